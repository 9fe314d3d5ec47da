//! Slots for worlds that run at the same time. A world that lasts much longer than the others waits for something, such
//! as a request without an answer: it gives its slot to the next one, and ends with the time of the exploration.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The time of a slot before any world has ended.
const FIRST: Duration = Duration::from_secs(30);

/// The shortest time of a slot.
const LEAST: Duration = Duration::from_secs(10);

/// The part of a slot's time that a world has at the end of the exploration.
const LAST: f64 = 0.6;

pub(super) struct Slots {
    free: Semaphore,
    number: usize,
    /// How many worlds ended in their slots, and how long they took.
    ended: Mutex<(u32, Duration)>,
}

pub(super) struct Slot<'a> {
    permit: SemaphorePermit<'a>,
    slots: &'a Slots,
}

impl Slots {
    pub(super) fn new(number: usize) -> Self {
        let number = number.max(1);
        Self {
            free: Semaphore::new(number),
            number,
            ended: Mutex::default(),
        }
    }

    /// Worlds that run at most, with those that have given their slots away.
    pub(super) fn most(&self) -> usize {
        2 * self.number
    }

    /// Waits for a free slot.
    pub(super) async fn wait(&self) -> Slot<'_> {
        let permit = self.free.acquire().await;
        Slot {
            permit: permit.unwrap_or_else(|closed| unreachable!("nothing closes the slots: {closed}")),
            slots: self,
        }
    }

    /// How long a world holds its slot: twice as long as others took.
    fn time(&self) -> Duration {
        let (number, sum) = *self.ended.lock();
        match number {
            0 => FIRST,
            _ => (2 * sum / number).max(LEAST),
        }
    }
}

impl Slot<'_> {
    /// Runs a world in the slot. One that still waits for something at `deadline` is cancelled by its token.
    pub(super) async fn run<T>(
        self,
        world: impl Future<Output = T>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> T {
        let started = Instant::now();
        let time = self.slots.time();
        // One that began shortly before the deadline may take a little longer than others took.
        let deadline = deadline.max(started + time.mul_f64(LAST));
        tokio::pin!(world);
        tokio::select! {
            end = &mut world => {
                let mut ended = self.slots.ended.lock();
                ended.0 += 1;
                ended.1 += started.elapsed();
                return end;
            }
            () = tokio::time::sleep_until(deadline.min(started + time)) => {}
        }
        drop(self.permit);
        tokio::select! {
            end = &mut world => return end,
            () = tokio::time::sleep_until(deadline) => cancel.cancel(),
        }
        world.await
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::FutureExt as _;

    use super::*;

    fn never() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    async fn lasting(slots: &Slots, seconds: u64) {
        let slot = slots.wait().await;
        let world = tokio::time::sleep(Duration::from_secs(seconds));
        slot.run(world, never(), &CancellationToken::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_world_that_hangs_gives_its_slot_to_the_next() {
        let slots = Slots::new(1);
        lasting(&slots, 8).await;
        let started = Instant::now();
        tokio::select! {
            biased;
            () = async { slots.wait().await.run(pending(), never(), &CancellationToken::new()).await } => {}
            () = lasting(&slots, 4) => {}
        }
        assert_eq!(started.elapsed().as_secs(), 16 + 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_held_for_its_time() {
        let slots = Slots::new(1);
        let held = slots.wait().await;
        assert!(slots.wait().now_or_never().is_none());
        let cancel = CancellationToken::new();
        let world = held.run(pending::<()>(), never(), &cancel);
        assert!(
            tokio::time::timeout(Duration::from_secs(29), world)
                .await
                .is_err()
        );
        lasting(&slots, 1).await;
        assert_eq!(slots.time(), LEAST);
    }

    #[tokio::test(start_paused = true)]
    async fn worlds_that_hang_do_not_make_slots_longer() {
        let slots = Slots::new(2);
        lasting(&slots, 10).await;
        lasting(&slots, 300).await;
        assert_eq!(slots.time().as_secs(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_world_that_hangs_ends_at_the_deadline() {
        let slots = Slots::new(1);
        let started = Instant::now();
        let deadline = started + Duration::from_secs(5);
        let lasts = async |seconds| {
            let cancel = CancellationToken::new();
            let world = async {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_secs(seconds)) => false,
                    () = cancel.cancelled() => true,
                }
            };
            slots.wait().await.run(world, deadline, &cancel).await
        };
        assert!(!lasts(15).await);
        assert!(lasts(50).await);
        assert_eq!(started.elapsed().as_secs(), 15 + 18);
    }
}
