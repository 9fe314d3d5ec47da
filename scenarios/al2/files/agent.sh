#!/bin/bash
echo installed > /etc/agent
