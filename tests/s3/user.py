"""Makes the one user and the bucket of the S3 server at this port, and prints the id and the secret of the user's key.

From then on the server takes signed requests alone (scripts/service.sh).
"""

import json
import sys

import boto3

BUCKET = "pictures"
RIGHTS = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def client(service: str, key: str, secret: str):
    return boto3.client(
        service,
        endpoint_url=f"http://127.0.0.1:{sys.argv[1]}",
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


iam = client("iam", "nobody", "nothing")
iam.create_user(UserName="gailou")
iam.put_user_policy(UserName="gailou", PolicyName="all", PolicyDocument=json.dumps(RIGHTS))
made = iam.create_access_key(UserName="gailou")["AccessKey"]
key, secret = made["AccessKeyId"], made["SecretAccessKey"]
client("s3", key, secret).create_bucket(Bucket=BUCKET)
print(f"{key};{secret}")
