//! The command line of `nodejoin aws`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::aws::AuthenticationMode;

/// What stands below `nodejoin aws --help`.
pub const HELP: &str = "\
Three lines point an AWS CLI at it. It prints them with the ports that it has, and
`. nodejoin-aws/env` reads them:

  export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1338
  export HTTPS_PROXY=http://127.0.0.1:8443 AWS_CA_BUNDLE=\"$PWD/nodejoin-aws/ca.pem\"
  export AWS_DEFAULT_REGION=eu-west-1

Keys in the environment or in ~/.aws go before those of the metadata service. Host names stay
AWS' own: the services' port takes them as a proxy does, or at once where they resolve to it.
Nothing is passed on to AWS.

While it runs, `nodejoin aws set` changes the account, and `nodejoin aws set default` undoes it.
Ctrl-C ends it and removes its files. Exit codes: 2 a wrong file or value; 4 a port or folder
that cannot be had; 130 ended by the user.";

/// `nodejoin aws`
#[derive(Debug, ClapArgs)]
pub struct Aws {
    /// A scenario file, or an account file: the AWS keys of a scenario alone. Defaults for everything where absent
    pub file: Option<PathBuf>,
    /// Where the metadata service answers; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1338")]
    pub metadata: SocketAddr,
    /// Where all other services answer, by host name, behind one TLS port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8443")]
    pub services: SocketAddr,
    /// Answer TokenReviews here, as the authenticator of the account's cluster
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub webhook: Option<SocketAddr>,
    /// Folder for the certificate authority (`ca.pem`), the three lines (`env`), and what `nodejoin aws set` finds it by
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "nodejoin-aws",
        global = true,
        env = "NODEJOIN_AWS_FOLDER"
    )]
    pub folder: PathBuf,
    /// Add requests and token reviews to this file as JSON lines; they go to standard error as text where absent
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The cluster's version that DescribeCluster tells
    #[arg(long, value_name = "VERSION", default_value = "1.32")]
    pub kubernetes: Minor,
    /// What else is to be done.
    #[command(subcommand)]
    pub command: Option<AwsCommand>,
}

/// What can be done with an account that is served.
#[derive(Debug, Subcommand)]
pub enum AwsCommand {
    /// Change the account that is served, and say what became of it
    Set(Set),
}

/// `nodejoin aws set`
#[derive(Debug, ClapArgs)]
pub struct Set {
    /// What is to change.
    #[command(subcommand)]
    pub what: SetCommand,
}

/// What can change. Each takes `default`, too, which is what the file said.
#[derive(Debug, Subcommand)]
pub enum SetCommand {
    /// Whether requests to the metadata service need a token
    Tokens {
        /// `HttpTokens`
        to: TokensTo,
    },
    /// Whether the metadata service answers at all
    Endpoint {
        /// `HttpEndpoint`
        to: EndpointTo,
    },
    /// Whether tags stand in the metadata
    InstanceTags {
        /// `InstanceMetadataTags`
        to: SwitchTo,
    },
    /// The user data, byte for byte
    UserData {
        /// A file, `-` for standard input, `none` or `default`
        to: String,
    },
    /// The notice that the spot instance is taken back
    SpotNotice {
        /// What will happen to the instance
        to: SpotTo,
    },
    /// `Code` of the role's credentials; anything but `Success` comes without credentials
    Credentials {
        /// A code such as `AssumeRoleUnauthorizedAccess`, or `default`
        to: String,
        /// `Message` of the document
        #[arg(long)]
        message: Option<String>,
    },
    /// What DescribeCluster says of the cluster
    ClusterStatus {
        /// A status such as `CREATING`, or `default`
        to: String,
    },
    /// Throttle a service or one of its operations
    Throttle {
        /// A call such as `eks.DescribeCluster`, a service such as `sts`, or `default` for no throttle but the file's
        to: String,
        /// Only so many requests from now on
        #[arg(long, value_name = "COUNT")]
        times: Option<u32>,
    },
    /// The rows of `kube-system/aws-auth` that the webhook maps by
    AwsAuth {
        /// A file with rows as under `cluster.aws_auth`, `-` for standard input, `none` or `default`
        to: String,
    },
    /// Where principals may be granted access to the cluster
    AuthenticationMode {
        /// As `accessConfig` has it
        to: ModeTo,
    },
    /// Undo every change
    Default,
}

/// Values of `tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TokensTo {
    /// IMDSv2 only
    Required,
    /// IMDSv1 works too
    Optional,
    /// As in the file
    Default,
}

/// Values of `endpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EndpointTo {
    /// It answers
    Enabled,
    /// Everything is answered with 403
    Disabled,
    /// As in the file
    Default,
}

/// Values of what is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SwitchTo {
    /// They do
    On,
    /// They do not
    Off,
    /// As in the file
    Default,
}

/// Values of `spot-notice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpotTo {
    /// It is terminated, two minutes from now
    Terminate,
    /// It is stopped
    Stop,
    /// It is hibernated
    Hibernate,
    /// Nothing
    None,
    /// As in the file
    Default,
}

/// Values of `authentication-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeTo {
    /// Access entries only
    #[value(name = "API")]
    Api,
    /// Access entries and `aws-auth`
    #[value(name = "API_AND_CONFIG_MAP")]
    ApiAndConfigMap,
    /// `aws-auth` only
    #[value(name = "CONFIG_MAP")]
    ConfigMap,
    /// As in the file
    #[value(name = "default")]
    Default,
}

impl ModeTo {
    /// The mode; `None` for the default.
    #[must_use]
    pub fn mode(self) -> Option<AuthenticationMode> {
        match self {
            Self::Api => Some(AuthenticationMode::Api),
            Self::ApiAndConfigMap => Some(AuthenticationMode::ApiAndConfigMap),
            Self::ConfigMap => Some(AuthenticationMode::ConfigMap),
            Self::Default => None,
        }
    }
}
