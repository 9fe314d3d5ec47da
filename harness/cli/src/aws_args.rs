//! The command line of `nodejoin aws`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::aws::AuthenticationMode;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::run::env;

/// The text after the options in `nodejoin aws --help`.
pub const HELP: &str = "\
These lines point an AWS CLI at the account. The command prints them with its actual ports,
and `. nodejoin-aws/env` sets them:

  export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1338
  export HTTPS_PROXY=http://127.0.0.1:8443 AWS_CA_BUNDLE=\"$PWD/nodejoin-aws/ca.pem\"
  export AWS_DEFAULT_REGION=eu-west-1

Access keys in the environment or in ~/.aws take precedence over those of the metadata service.
Clients keep the host names of AWS: the services port accepts them as an HTTP proxy, or directly
for clients that resolve them to it. No request reaches AWS.

While it runs, `nodejoin aws set` changes the account, and `nodejoin aws set default` undoes all
changes. Ctrl-C stops it and removes its files. Exit codes: 2 invalid file or value; 4 port or
folder not available; 130 interrupted.";

/// `nodejoin aws`
#[derive(Debug, ClapArgs)]
pub struct AwsArgs {
    /// Scenario file, or account file: only the AWS keys of a scenario [default: an account of default values]
    pub file: Option<PathBuf>,
    /// Address of the metadata service of the first instance; the others follow on the next ports. Port 0 picks free
    /// ports
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1338")]
    pub metadata: SocketAddr,
    /// Address of all other services, which share one TLS port and are selected by host name
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8443")]
    pub services: SocketAddr,
    /// Address for TokenReviews, reviewed as by the authenticator of the account's cluster [default: none]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub webhook: Option<SocketAddr>,
    /// Folder for the certificate authority (`ca.pem`), the variables (`env`) and the control socket of `nodejoin aws
    /// set`
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "nodejoin-aws",
        global = true,
        env = env::AWS_FOLDER.name
    )]
    pub folder: PathBuf,
    /// Append requests and token reviews to this file as JSON lines [default: text on standard error]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Kubernetes version that DescribeCluster returns
    #[arg(long, value_name = "VERSION", default_value = "1.32")]
    pub kubernetes: Minor,
    #[command(subcommand)]
    pub command: Option<AwsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum AwsCommand {
    /// Change the running account and print the new state
    Set(SetArgs),
}

/// `nodejoin aws set`
#[derive(Debug, ClapArgs)]
pub struct SetArgs {
    /// Change only this instance [default: all instances]
    #[arg(long, value_name = "ID")]
    pub instance: Option<InstanceId>,
    #[command(subcommand)]
    pub what: SetCommand,
}

/// Settings of a running account. Each accepts `default`, the value in the file.
#[derive(Debug, Subcommand)]
pub enum SetCommand {
    /// Whether the metadata service requires a token
    Tokens {
        /// `HttpTokens`
        to: TokensTo,
    },
    /// Whether the metadata service is enabled
    Endpoint {
        /// `HttpEndpoint`
        to: EndpointTo,
    },
    /// Whether the metadata includes the instance's tags
    InstanceTags {
        /// `InstanceMetadataTags`
        to: SwitchTo,
    },
    /// The user data, byte for byte
    UserData {
        /// File, `-` for standard input, `none` or `default`
        to: String,
    },
    /// The interruption notice of the spot instance
    SpotNotice {
        /// Action of the notice
        to: SpotTo,
    },
    /// `Code` of the role's credentials; any code except `Success` omits the credentials
    Credentials {
        /// Code, e.g. `AssumeRoleUnauthorizedAccess`, or `default`
        to: String,
        /// `Message` of the document
        #[arg(long)]
        message: Option<String>,
    },
    /// Status of the cluster in DescribeCluster
    ClusterStatus {
        /// Status, e.g. `CREATING`, or `default`
        to: String,
    },
    /// Throttle a service or one of its operations
    Throttle {
        /// Operation, e.g. `eks.DescribeCluster`, service, e.g. `sts`, or `default` for the throttles of the file
        to: String,
        /// Throttle only this number of requests
        #[arg(long, value_name = "COUNT")]
        times: Option<u32>,
    },
    /// The rows of `kube-system/aws-auth` that the webhook uses
    AwsAuth {
        /// File with rows as in `cluster.aws_auth`, `-` for standard input, `none` or `default`
        to: String,
    },
    /// The authentication mode of the cluster
    AuthenticationMode {
        /// Value of `accessConfig.authenticationMode`
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
    /// IMDSv1 and IMDSv2
    Optional,
    /// The value in the file
    Default,
}

/// Values of `endpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EndpointTo {
    /// Responds to requests
    Enabled,
    /// Responds with 403 to every request
    Disabled,
    /// The value in the file
    Default,
}

/// Values of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SwitchTo {
    /// Include them
    On,
    /// Omit them
    Off,
    /// The value in the file
    Default,
}

/// Values of `spot-notice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpotTo {
    /// Terminate the instance in two minutes
    Terminate,
    /// Stop the instance in two minutes
    Stop,
    /// Hibernate the instance
    Hibernate,
    /// No notice
    None,
    /// The value in the file
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
    /// The value in the file
    #[value(name = "default")]
    Default,
}

impl ModeTo {
    /// The authentication mode; `None` for the value in the file.
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
