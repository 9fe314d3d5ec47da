#!/bin/bash
# Joins the cluster with the values of the environment.
set -euo pipefail
/etc/eks/bootstrap.sh "$CLUSTER" --container-runtime containerd --dns-cluster-ip 10.100.0.10 \
  --b64-cluster-ca "$AUTHORITY" --apiserver-endpoint "$ENDPOINT" --kubelet-extra-args "--node-labels=team=$TEAM"
