//! Derives a Kubernetes user from the response of STS: canonical ARN, session name and the templates of `aws-auth`.

use nodejoin_core::plan::ids::InstanceId;

use crate::iam::sts::StsIdentity;

const PRIVATE_DNS_NAME: &str = "{{EC2PrivateDNSName}}";

/// A caller whose ARN and user id have known forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IamIdentity {
    pub account: String,
    /// ARN in the response of STS.
    pub arn: String,
    /// ARN that mappings match: for an assumed role, the role's without its path.
    pub canonical_arn: String,
    /// The unique id of the principal, such as `AROA...`.
    pub principal_id: String,
    /// Session name of an assumed role: the instance id for an instance. Empty for users.
    pub session_name: String,
    pub access_key_id: String,
}

impl IamIdentity {
    /// Parses the response of STS.
    ///
    /// # Errors
    /// The authenticator's message for an unknown form of ARN or user id.
    pub fn read(caller: &StsIdentity, access_key_id: &str) -> Result<Self, String> {
        let canonical_arn = canonical_arn(&caller.arn)?;
        let parts: Vec<&str> = caller.user_id.split(':').collect();
        let (principal_id, session_name) = match parts[..] {
            [principal, session] => (principal, session),
            [principal] if !caller.arn.contains(":assumed-role/") => (principal, ""),
            _ => return Err(format!("malformed UserID {:?}", caller.user_id)),
        };
        Ok(Self {
            account: caller.account.clone(),
            arn: caller.arn.clone(),
            canonical_arn,
            principal_id: principal_id.to_owned(),
            session_name: session_name.to_owned(),
            access_key_id: access_key_id.to_owned(),
        })
    }

    /// The uid of the Kubernetes user.
    #[must_use]
    pub fn uid(&self) -> String {
        format!("aws-iam-authenticator:{}:{}", self.account, self.principal_id)
    }

    /// The `extra` fields of the Kubernetes user.
    #[must_use]
    pub fn extra(&self) -> [(&'static str, &str); 6] {
        [
            ("arn", self.arn.as_str()),
            ("canonicalArn", self.canonical_arn.as_str()),
            ("sessionName", self.session_name.as_str()),
            ("accessKeyId", self.access_key_id.as_str()),
            ("principalId", self.principal_id.as_str()),
            (
                "sigs.k8s.io/aws-iam-authenticator/principalId",
                self.principal_id.as_str(),
            ),
        ]
    }

    /// Expands the templates of `aws-auth` in a text. Unknown templates stay as they are.
    ///
    /// # Errors
    /// When `{{EC2PrivateDNSName}}` is used for a session that is not an instance id, or EC2 does not know the
    /// instance.
    pub fn expand(
        &self,
        template: &str,
        private_dns_name: impl Fn(&InstanceId) -> Option<String>,
    ) -> Result<String, String> {
        let mut text = template.replace("{{AccountID}}", &self.account);
        if text.contains(PRIVATE_DNS_NAME) {
            let instance: InstanceId = self
                .session_name
                .parse()
                .map_err(|_| "SessionName did not contain an instance id".to_owned())?;
            let name = private_dns_name(&instance);
            let name = name.ok_or_else(|| format!("failed to find node {instance}"))?;
            text = text.replace(PRIVATE_DNS_NAME, &name);
        }
        Ok(text
            .replace("{{SessionName}}", &self.session_name.replace('@', "-"))
            .replace("{{SessionNameRaw}}", &self.session_name)
            .replace("{{AccessKeyID}}", &self.access_key_id))
    }
}

/// The ARN that mappings match.
///
/// # Errors
/// The authenticator's message for an ARN of something other than a user, role or root.
pub fn canonical_arn(arn: &str) -> Result<String, String> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, service, _, account, resource] = parts[..] else {
        return Err(format!("arn '{arn}' is invalid: 'arn: invalid prefix'"));
    };
    let names: Vec<&str> = resource.split('/').collect();
    match (service, &names[..]) {
        ("sts", ["federated-user", _]) => Ok(arn.to_owned()),
        // STS omits the path here, so the last two segments are always role and session.
        ("sts", ["assumed-role", .., role, _]) => Ok(format!("arn:{partition}:iam::{account}:role/{role}")),
        ("sts", ["assumed-role", ..]) => Err(format!("assumed-role arn '{arn}' does not have a role")),
        ("iam", ["role" | "user" | "root", ..]) => Ok(arn.to_owned()),
        _ => Err(format!("unrecognized resource {resource} for service {service}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(session: &str) -> IamIdentity {
        let caller = StsIdentity {
            account: "111111111111".to_owned(),
            arn: format!("arn:aws:sts::111111111111:assumed-role/NodeRole/{session}"),
            user_id: format!("AROAEXAMPLE:{session}"),
        };
        IamIdentity::read(&caller, "ASIAEXAMPLE").unwrap()
    }

    #[test]
    fn assumed_role_arns_become_role_arns() {
        let table = [
            (
                "arn:aws:sts::1:assumed-role/NodeRole/i-0b22a22eec53b9321",
                Ok("arn:aws:iam::1:role/NodeRole"),
            ),
            (
                "arn:aws-cn:sts::1:assumed-role/R/s",
                Ok("arn:aws-cn:iam::1:role/R"),
            ),
            ("arn:aws:iam::1:user/ann", Ok("arn:aws:iam::1:user/ann")),
            ("arn:aws:iam::1:root", Ok("arn:aws:iam::1:root")),
            (
                "arn:aws:sts::1:federated-user/ann",
                Ok("arn:aws:sts::1:federated-user/ann"),
            ),
            (
                "arn:aws:sts::1:user/moto",
                Err("unrecognized resource user/moto for service sts"),
            ),
            (
                "nonsense",
                Err("arn 'nonsense' is invalid: 'arn: invalid prefix'"),
            ),
        ];
        for (arn, expected) in table {
            assert_eq!(
                canonical_arn(arn),
                expected.map(str::to_owned).map_err(str::to_owned),
                "{arn}"
            );
        }
    }

    #[test]
    fn templates_are_expanded() {
        let node = identity("i-0b22a22eec53b9321");
        let names = |_: &InstanceId| Some("ip-192-168-40-16.eu-west-1.compute.internal".to_owned());
        let name = node.expand("system:node:{{EC2PrivateDNSName}}", names).unwrap();
        assert_eq!(name, "system:node:ip-192-168-40-16.eu-west-1.compute.internal");
        assert_eq!(
            node.expand("{{AccountID}} {{Unknown}}", names).unwrap(),
            "111111111111 {{Unknown}}"
        );
        let person = identity("ann@example.com");
        assert_eq!(
            person.expand("{{SessionName}}", names).unwrap(),
            "ann-example.com"
        );
        assert_eq!(
            person.expand("{{SessionNameRaw}}", names).unwrap(),
            "ann@example.com"
        );
    }

    #[test]
    fn a_node_name_needs_an_instance() {
        let person = identity("ann@example.com")
            .expand(PRIVATE_DNS_NAME, |_| None)
            .unwrap_err();
        assert_eq!(person, "SessionName did not contain an instance id");
        let unknown = identity("i-0b22a22eec53b9321")
            .expand(PRIVATE_DNS_NAME, |_| None)
            .unwrap_err();
        assert_eq!(unknown, "failed to find node i-0b22a22eec53b9321");
    }

    #[test]
    fn a_role_needs_a_session() {
        let caller = StsIdentity {
            account: "1".to_owned(),
            arn: "arn:aws:sts::1:assumed-role/R/s".to_owned(),
            user_id: "AROA".to_owned(),
        };
        assert_eq!(
            IamIdentity::read(&caller, "A").unwrap_err(),
            "malformed UserID \"AROA\""
        );
    }
}
