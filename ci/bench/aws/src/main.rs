//! Measures the fake AWS with one client in one run, as ratios. No test depends on them.
//!
//! | measured | against | what both do |
//! | --- | --- | --- |
//! | a metadata path with a token, 200 clients | bare hyper | return the same response, close the connection |
//! | DescribeInstances of one instance, 16 clients | moto | serve EC2 queries; the fake also checks signatures |
//!
//! The servers of a pair take turns, so that other load on the machine affects both. Client and servers share the
//! processors: the ratio is closer to 1 than a ratio of the servers alone.

mod bare;
mod client;
mod failed;
mod sign;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use client::{Line, Seen};
use failed::Failed;
use nodejoin_core::input::files::Disk;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::scenario::default_account;
use nodejoin_fake_aws::{AccountAddresses, AccountServer, FakeAws, World};
use tokio::sync::mpsc;

/// How many turns each server of a pair gets.
const TURNS: usize = 5;
const METADATA_CLIENTS: usize = 200;
const EC2_CLIENTS: usize = 16;
const PATH: &str = "/latest/meta-data/instance-id";

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let moto: SocketAddr = arguments
        .next()
        .ok_or("the address of a moto server is missing")?
        .parse()?;
    let seconds: f64 = arguments.next().map_or(Ok(3.0), |text| text.parse())?;
    let turn = Duration::from_secs_f64(seconds);
    let account = account()?;
    metadata(&account, turn).await?;
    instances(&account, moto, turn).await?;
    account.shut_down().await;
    Ok(())
}

fn account() -> Result<AccountServer, Failed> {
    let plan = default_account(&Disk::default());
    let (events, mut received) = mpsc::unbounded_channel();
    // Consumes events like a run.
    tokio::spawn(async move { while received.recv().await.is_some() {} });
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let doors = AccountAddresses {
        metadata: here,
        services: here,
    };
    let run = "benchmark".parse()?;
    Ok(FakeAws::serve_account(
        &run,
        doors,
        vec![World::of(&plan, events)],
        TimeFactor::ONE,
    )?)
}

async fn metadata(account: &AccountServer, turn: Duration) -> Result<(), Failed> {
    let token = client::token(account.instances[0].1).await?;
    let fake = Line::plain(
        account.instances[0].1,
        client::get(account.instances[0].1, PATH, &token)?,
    );
    let answer = fake.once().await?;
    let bare_at = bare::serve(answer).await?;
    let bare = Line::plain(bare_at, client::get(bare_at, PATH, &token)?);
    let (fake, bare) = turns(&fake, &bare, METADATA_CLIENTS, turn).await?;
    println!("metadata service, {METADATA_CLIENTS} clients at once, a connection for each request");
    println!("  fake          {fake}");
    println!("  bare hyper    {bare}");
    println!(
        "  fake to bare hyper, requests a second: {:.2} (wanted: 0.85)",
        fake.rate() / bare.rate()
    );
    Ok(())
}

async fn instances(account: &AccountServer, moto: SocketAddr, turn: Duration) -> Result<(), Failed> {
    let credentials = client::credentials(account.instances[0].1).await?;
    let fake = Line::tls(account, sign::describe_instances(&credentials)?)?;
    // The fake has one instance; moto gets one.
    Line::plain(moto, sign::run_instance(&credentials)?)
        .once()
        .await?;
    let moto = Line::plain(moto, sign::describe_instances(&credentials)?);
    for line in [&fake, &moto] {
        let body = line.once().await?.into_body();
        let found = String::from_utf8_lossy(&body).matches("<instanceId>").count();
        if found != 1 {
            return Err(format!("{found} instances instead of one").into());
        }
    }
    let (fake, moto) = turns(&fake, &moto, EC2_CLIENTS, turn).await?;
    println!("DescribeInstances, {EC2_CLIENTS} clients at once");
    println!("  fake          {fake}");
    println!("  moto          {moto}");
    println!(
        "  fake to moto, requests a second: {:.1} (wanted: 20)",
        fake.rate() / moto.rate()
    );
    Ok(())
}

/// Measures both servers of a pair in turns, each after a warm-up that does not count.
async fn turns(one: &Line, other: &Line, clients: usize, turn: Duration) -> Result<(Seen, Seen), Failed> {
    let (mut first, mut second) = (Seen::default(), Seen::default());
    for line in [one, other] {
        client::load(line, clients, turn / 5).await?;
    }
    for _ in 0..TURNS {
        first.add(client::load(one, clients, turn).await?);
        second.add(client::load(other, clients, turn).await?);
    }
    Ok((first, second))
}
