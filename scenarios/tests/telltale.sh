#!/bin/bash
exec > >(tee /var/log/user-data.log) 2>&1
token=$(curl -sX PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
role=$(curl -s -H "X-aws-ec2-metadata-token: $token" http://169.254.169.254/latest/meta-data/iam/security-credentials/)
curl -s -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/iam/security-credentials/$role"
aws-iam-authenticator token -i {{ cluster.name }} --region {{ instance.region }}
openssl genrsa 2048 2>/dev/null || openssl genpkey -algorithm RSA
echo 'https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&X-Amz-Signature=0123456789abcdef0123456789abcdef'
echo "ctr image pull --user AWS:$(aws ecr get-login-password --region {{ instance.region }})"
set -o errexit
/etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd
