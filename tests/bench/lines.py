"""Adversarial lines of our own, in other wordings than any measuring set: ⟦secret⟧, ⟪must stay⟫, kinds as comments.

Values are made up at run time from `{names}` (see `VALUES`), so that no real-looking secret stands in the repository.
"""

# ruff: noqa: E501 (lines of others are long)

from __future__ import annotations

import base64
import random
import re
import string
from functools import partial
from typing import Any

LETTERS = string.ascii_letters + string.digits
PASSWORDS = ("Crimson", "Teapot", "Glacier", "Mango", "Violin", "Saturn", "Thunder", "Raccoon", "Cobalt", "Juniper")

SECRETS = r"""
# passwords: syntaxes
DATABASE__MAIN__PASSWORD: "⟦{pw}⟧"
db.default.password=⟦{pw}⟧
export PGPASSWORD=⟦{pw}⟧; psql -h ⟪pg-1.prod⟫ -U app
set MYSQL_PWD=⟦{pw}⟧ && mysqldump -h ⟪10.4.4.4⟫ shop
$env:SQL_ADMIN_PASSWORD = "⟦{pw}⟧"
ENV REDIS_PASSWORD ⟦{pw}⟧
ARG NPM_PASSWORD=⟦{alnum20}⟧
config.password = '⟦{pw}⟧'  # ⟪staging⟫
:password => "⟦{pw}⟧", :host => "⟪db-4⟫"
"Password": "⟦{pw}⟧", "Server": "⟪sql-02⟫"
password   =   "⟦{pw}⟧"
admin_password = "⟦{wordpw}⟧"
DB_PASS='⟦{pw}⟧' DB_NAME=⟪orders⟫
smtp_pass: ⟦{wordpw}⟧
spring.datasource.hikari.password=⟦{pw}⟧
<add key="SmtpPassword" value="⟦{pw}⟧" />
<property name="hibernate.connection.password">⟦{pw}⟧</property>
<Password>⟦{pw}⟧</Password><Host>⟪ora-2⟫</Host>
{\"db_password\":\"⟦{pw}⟧\",\"db_host\":\"⟪db-7⟫\"}
{"name": "MONGO_PASSWORD", "value": "⟦{pw}⟧"}
- name: KEYCLOAK_ADMIN_PASSWORD\n  value: ⟦{pw}⟧\n- name: ⟪KC_HOSTNAME⟫
define('DB_PASSWORD', '⟦{pw}⟧');
os.environ["SMTP_PASSWORD"] = "⟦{pw}⟧"
putenv("LDAP_BIND_PW=⟦{pw}⟧")
conn = psycopg2.connect(host="⟪db-9⟫", user="app", password="⟦{pw}⟧")
new Credentials("svc", password: "⟦{pw}⟧")
Config{Host:⟪db-2⟫ User:app Password:⟦{pw}⟧ Port:5432}
map[host:⟪db-2⟫ password:⟦{alnum16}⟧ user:app]
LoginRequest(username=jdoe, password=⟦{pw}⟧, tenant=⟪acme⟫)
| password | ⟦{pw}⟧ |
*Password:* ⟦{pw}⟧
> password: ⟦{pw}⟧
`db_password`: `⟦{pw}⟧`
password%3D⟦{alnum12}⟧%26user%3Dapp
payload: %7B%22password%22%3A%22⟦{alnum12}⟧%22%7D
"credentials":{"username":"⟪svc⟫","password":"⟦{pw}⟧"}
passwort: ⟦{pw}⟧ auf ⟪db-3⟫
contraseña: ⟦{pw}⟧
mot de passe : ⟦{pw}⟧
пароль: ⟦{pw}⟧
login ci password ⟦{pw}⟧
machine ⟪nexus.shop.net⟫ login ci password ⟦{alnum16}⟧
⟪db-1⟫:5432:orders:app:⟦{pw}⟧
requirepass ⟦{alnum20}⟧
masterauth ⟦{wordpw}⟧
ansible_become_pass=⟦{pw}⟧
ansible_ssh_pass: ⟦{wordpw}⟧
bindpw ⟦{pw}⟧
wpa_passphrase=⟦{wordpw}⟧
username cisco privilege 15 secret ⟦{pw}⟧
passphrase: ⟦correct mango violin saturn⟧
# passwords: command lines
mysqladmin -u root -p⟦{alnum12}⟧ -h ⟪db-3⟫ ping
mariadb -uapp -p'⟦{pw}⟧' ⟪orders⟫
mongosh ⟪mongo-0:27017⟫ -u admin -p ⟦{pw}⟧
mongodump --username backup --password ⟦{wordpw}⟧ --out /backup
redis-cli -a ⟦{alnum20}⟧ -h ⟪redis-2⟫ ping
redis-cli -u redis://:⟦{alnum20}⟧@⟪redis-2⟫:6379
docker login -u robot --password ⟦{alnum20}⟧ ⟪harbor.shop.net⟫
helm registry login ⟪reg.shop.net⟫ -u ci -p ⟦{pw}⟧
curl -u "elastic:⟦{alnum20}⟧" ⟪https://es-1:9200/_cat/health⟫
curl --user ops:⟦{pw}⟧ -k ⟪https://10.0.4.4/status⟫
http -a admin:⟦{pw}⟧ ⟪rabbit-1:15672/api/nodes⟫
wget --password=⟦{pw}⟧ --user=mirror ⟪ftp.shop.net⟫
sshpass -p ⟦{pw}⟧ scp dump.sql ⟪backup-1⟫:/data
ldapsearch -x -D cn=admin -w ⟦{pw}⟧ -b ⟪dc=shop,dc=net⟫
sqlcmd -S ⟪sql-01⟫ -U sa -P ⟦{pw}⟧ -Q "select 1"
sqlplus scott/⟦{alnum12}⟧@⟪ORCL⟫
rabbitmqctl add_user ops ⟦{pw}⟧
htpasswd -b /etc/nginx/.htpasswd admin ⟦{pw}⟧
openssl rsa -in ⟪key.pem⟫ -passin pass:⟦{wordpw}⟧
keytool -list -keystore ⟪app.jks⟫ -storepass ⟦{alnum12}⟧
unzip -P ⟦{pw}⟧ ⟪dump.zip⟫
vault login ⟦hvs.{alnum24}⟧
kubectl create secret generic ⟪orders-db⟫ --from-literal=password=⟦{pw}⟧
kubectl create secret generic ⟪api⟫ --from-literal=apikey=⟦{alnum32}⟧
echo "⟦{pw}⟧" | docker login -u ci --password-stdin ⟪reg.shop.net⟫
echo 'root:⟦{pw}⟧' | chpasswd
java -Djavax.net.ssl.keyStorePassword=⟦{wordpw}⟧ -jar ⟪app.jar⟫
./deploy.sh --db-pass=⟦{pw}⟧ --env ⟪prod⟫
flyway -user=flyway -password=⟦{pw}⟧ ⟪migrate⟫
influx -username admin -password ⟦{wordpw}⟧ -host ⟪influx-1⟫
clickhouse-client --host ⟪ch-1⟫ --password ⟦{alnum16}⟧
smbclient //⟪nas-1⟫/backup -U svc%⟦{pw}⟧
net use Z: \\⟪nas-1⟫\share /user:svc ⟦{pw}⟧
cmdkey /add:⟪srv-1⟫ /user:svc /pass:⟦{pw}⟧
# passwords: addresses
mssql://sa:⟦{alnum12}⟧@⟪sql-1⟫:1433/billing
ldap://cn=admin:⟦{alnum12}⟧@⟪ldap-1⟫:389
smtp://apikey:⟦{alnum20}⟧@⟪smtp.mail.net⟫:587
sftp://backup:⟦{wordpw}⟧@⟪files.shop.net⟫/nightly
jdbc:oracle:thin:app/⟦{alnum12}⟧@⟪ora-1:1521/ORCL⟫
cassandra://app:⟦{pw}⟧@⟪cass-1,cass-2⟫/ks
nats://svc:⟦{alnum20}⟧@⟪nats-1⟫:4222
https://⟦{hex32}⟧@⟪o4411.ingest.sentry.io⟫/4501
mqtt://device:⟦{wordpw}⟧@⟪mqtt-2⟫:1883
proxy=http://corp\\svc:⟦{alnum12}⟧@⟪proxy-1⟫:8080
postgresql://app:⟦{alnum6}#{alnum6}⟧@⟪db-1⟫/shop
mongodb://root:⟦{alnum6}/{alnum6}⟧@⟪mongo-0⟫:27017,⟪mongo-1⟫:27017/admin
postgres:\/\/app:⟦{alnum12}⟧@⟪db-1⟫:5432\/shop
postgres%3A%2F%2Fapp%3A⟦{alnum12}⟧%40⟪db-1⟫%3A5432
User ID=app;Password=⟦{pw}⟧;Host=⟪db-1⟫;Port=5432;
Driver={ODBC Driver 18};Server=⟪sql-3⟫;UID=app;PWD=⟦{pw}⟧;
user=app password='⟦{pw}⟧' host=⟪db-5⟫
AccountEndpoint=https://⟪shop.documents.azure.com⟫:443/;AccountKey=⟦{b64_86}⟧==;
# passwords: sentences
the password for ⟪grafana⟫ is now ⟦{pw}⟧
Password for the deploy user was changed to ⟦{pw}⟧ yesterday
I've set the root pw to ⟦{wordpw}⟧ on ⟪db-4⟫
try ⟦{pw}⟧ as the password for ⟪jenkins⟫
⟦{pw}⟧ is the new password of ⟪svc-orders⟫
login with admin / ⟦{pw}⟧ on ⟪kibana.shop.net⟫
creds: ops:⟦{pw}⟧
credentials are deploy/⟦{wordpw}⟧, host is ⟪web-3⟫
user: app, pass: ⟦{pw}⟧
username root password ⟦{pw}⟧
the db password (⟦{pw}⟧) is in the wiki too
my password "⟦{wordpw}⟧" does not work on ⟪vpn-2⟫
ssh root@⟪10.1.1.9⟫ with password ⟦{pw}⟧
can you log in as backup with ⟦{pw}⟧ on ⟪nas-1⟫?
Passwort für ⟪db-7⟫ lautet ⟦{pw}⟧
la contraseña de ⟪db-7⟫ es ⟦{pw}⟧
le mot de passe est ⟦{pw}⟧
temporary password: ⟦{wordpw}⟧ (expires ⟪tomorrow⟫)
OTP is ⟦{d6}⟧ for ⟪bastion-1⟫
2FA code: ⟦{d6}⟧
the bearer token for ⟪staging⟫ is ⟦{alnum32}⟧
api key ⟦{alnum32}⟧ leaked in ⟪build 4411⟫
here's the token: ⟦{alnum40}⟧
the signing secret is ⟦{hex32}⟧, ⟪app A1⟫
use ⟦{alnum40}⟧ as the api key
Incorrect API key provided: ⟦{alnum32}⟧. (⟪HTTP 401⟫)
unauthorized: unknown token ⟦{hex40}⟧
# tokens: keys and headers
X-Auth-Token: ⟦{alnum32}⟧
X-Vault-Token: ⟦{alnum26}⟧
PRIVATE-TOKEN: ⟦{alnum20}⟧
Ocp-Apim-Subscription-Key: ⟦{hex32}⟧
x-functions-key: ⟦{b64_52}⟧==
Authorization: ApiKey ⟦{b64_60}⟧
authorization: ⟦{hex40}⟧
'Authorization': 'Token token=⟦{alnum32}⟧'
-H "Authorization: token ⟦{hex40}⟧" ⟪https://git.shop.net/api/v3⟫
-H 'api-key: ⟦{alnum32}⟧'
authorization_header="Bearer ⟦{alnum40}⟧"
refresh_token=⟦{alnum40}⟧&grant_type=refresh_token
id_token: ⟦{jwt}⟧
{"refreshToken":"⟦{alnum40}⟧","tokenType":"⟪Bearer⟫"}
client_secret: ⟦{alnum32}⟧
OAUTH_CLIENT_SECRET="⟦{alnum24}-{alnum6}⟧"
webhook_secret: ⟦{hex40}⟧
SIGNING_SECRET=⟦{hex32}⟧
JWT_SECRET=⟦{wordpw}⟧
APP_KEY=base64:⟦{b64_43}⟧=
SESSION_SECRET=⟦{alnum32}⟧
consul acl token ⟦{uuid}⟧ has no rights
CONSUL_HTTP_TOKEN=⟦{uuid}⟧
X-Consul-Token: ⟦{uuid}⟧
secret_id: ⟦{uuid}⟧
HONEYCOMB_API_KEY=⟦{hex32}⟧
OPSGENIE_API_KEY: ⟦{uuid}⟧
api_token=⟦{alnum24}⟧ job=⟪nightly⟫
license_key: ⟦{hex40}⟧
encryption.key=⟦{b64_43}⟧=
aes_key = ⟦{hex32}⟧
GET /api/v2/items?access_token=⟦{alnum32}⟧&page=⟪2⟫
https://⟪maps.shop.net⟫/geo?key=⟦{alnum32}⟧&q=x
POST /hook?token=⟦{alnum24}⟧ ⟪202⟫
https://⟪cdn.shop.net⟫/f.bin?Expires=1764499337&Signature=⟦{alnum40}~{alnum40}⟧&Key-Pair-Id=K2ABC
wss://⟪push.shop.net⟫/socket?auth=⟦{alnum32}⟧
session_token=⟦{alnum40}⟧
Cookie: auth_session=⟦{alnum32}⟧; lang=⟪de⟫
Set-Cookie: connect.sid=⟦s%3A{alnum32}.{alnum32}⟧; Path=/; Secure
curl -b 'session=⟦{alnum32}⟧' ⟪https://shop.net/cart⟫
kubectl config set-credentials ci --token=⟦{alnum40}⟧
npm config set //⟪reg.shop.net⟫/:_authToken ⟦{alnum36}⟧
_auth=⟦{b64basic}⟧
"auth": "⟦{b64basic}⟧"
consumer_key=⟦{alnum24}⟧ consumer_secret=⟦{alnum40}⟧
# tokens of vendors
⟦ghp_{alnum36}⟧
⟦github_pat_{alnum22}_{alnum40}{alnum18}⟧ in ⟪CI log⟫
⟦glrt-{alnum20}⟧ for ⟪runner 7⟫
pushed ⟦AKIA{upper16}⟧ to ⟪shop/infra⟫
⟦xoxp-{d12}-{d12}-{d12}-{hex32}⟧
⟦xapp-1-A0{upper8}-{d12}-{hex64}⟧
⟦https://⟫
hooks: https://discord.com/api/webhooks/⟦{d18}/{alnum40}{alnum28}⟧
https://⟪shop.webhook.office.com⟫/webhookb2/⟦{uuid}@{uuid}/IncomingWebhook/{hex32}/{uuid}⟧
telegram bot ⟦{d10}:AA{alnum33}⟧
⟦sk-ant-api03-{alnum40}{alnum40}-{alnum12}AA⟧
⟦sk-{alnum20}T3BlbkFJ{alnum20}⟧
⟦hf_{alnum34}⟧ for ⟪model pull⟫
⟦rk_live_{alnum24}⟧
⟦whsec_{alnum32}⟧
⟦SG.{alnum22}.{alnum43}⟧
⟦key-{hex32}⟧ mailgun
⟦{hex32}-us14⟧
⟦dop_v1_{hex64}⟧
⟦dapi{hex32}⟧ on ⟪adb-1.azuredatabricks.net⟫
⟦glc_{b64_60}⟧
⟦glsa_{alnum32}_{hex8}⟧
⟦sntrys_{b64_60}⟧
⟦NRAK-{upper27}⟧
⟦tskey-auth-{alnum12}-{alnum32}⟧
⟦dp.st.prd.{alnum40}⟧
⟦lin_api_{alnum40}⟧
⟦ntn_{alnum46}⟧
⟦shpat_{hex32}⟧
⟦EAAA{alnum60}⟧
⟦pul-{hex40}⟧
⟦{alnum14}.atlasv1.{alnum64}⟧
⟦ATATT3{alnum60}{alnum60}={hex8}⟧
⟦CCIPAT_{alnum22}_{hex40}⟧
⟦AGE-SECRET-KEY-1{upper58}⟧
⟦ya29.{alnum60}⟧
⟦{jwt}⟧ from ⟪idp-1⟫
⟦$2b$12${alnum22}{alnum31}⟧
root:⟦$6$rounds=5000${alnum16}${alnum43}{alnum43}⟧:19000:0:99999:7:::
⟦$argon2id$v=19$m=65536,t=3,p=4${alnum22}${alnum43}⟧
# structures
kind: Secret\nmetadata:\n  name: ⟪redis-auth⟫\nstringData:\n  REDIS_URL: ⟦{pw}⟧\ntype: Opaque
CREATE USER report WITH PASSWORD '⟦{pw}⟧';
ALTER ROLE app ENCRYPTED PASSWORD '⟦{pw}⟧' VALID UNTIL '⟪2027-01-01⟫';
SET PASSWORD FOR 'app'@'%' = PASSWORD('⟦{pw}⟧');
CREATE LOGIN ops WITH PASSWORD = N'⟦{pw}⟧', CHECK_POLICY=OFF
GRANT ALL ON shop.* TO 'x'@'%' IDENTIFIED BY '⟦{pw}⟧'
-----BEGIN ENCRYPTED @@PRIVATE KEY-----\n⟦{b64_64}⟧\n⟦{b64_64}⟧
{"privateKey":"-----BEGIN RSA @@PRIVATE KEY-----\\n⟦{b64_64}⟧\\n⟦{b64_64}⟧\\n-----END RSA @@PRIVATE KEY-----\\n","host":"⟪h1⟫"}
# disguises
password=⟦{alnum6}​{alnum6}⟧ on ⟪db-1⟫
pass­word: ⟦{pw}⟧
“password”: “⟦{pw}⟧”
password＝⟦{pw}⟧
*token*: `⟦{alnum40}⟧`
pаssword=⟦{pw}⟧
mongodb://svc:<mailto:⟦{alnum12}⟧@mongo.shop.net|⟦{alnum12}⟧@mongo.shop.net>/admin
<https://ops:⟦{alnum12}⟧@kibana.shop.net/app|https://ops:⟦{alnum12}⟧@kibana.shop.net/app>
api_key=\u0022⟦{alnum32}⟧\u0022
ghp_⟦{alnum14}⟧\n⟦{alnum22}⟧\n⟪deploy⟫ failed
\x1b[31mpassword\x1b[0m=⟦{pw}⟧
&lt;password&gt;⟦{pw}⟧&lt;/password&gt;
&quot;password&quot;:&quot;⟦{pw}⟧&quot;
~token~ = ⟦{alnum40}⟧
cG9zdGdyZXM6Ly9h: ⟦{b64dsn}⟧
# a second look: more programs, protocols and wordings
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="app" password="⟦{pw}⟧";
KafkaClient { ScramLoginModule required username="svc" password="⟦{pw}⟧"; };
otpauth://totp/Shop:ops?secret=⟦{upper32}⟧&issuer=⟪Shop⟫
TOTP seed ⟦{upper32}⟧ for ⟪vpn-1⟫
AUTH PLAIN ⟦AGFwcABDb3JyZWN0SG9yc2U5⟧
s:8:"password";s:12:"⟦{alnum12}⟧";s:4:"host";
DbConf { host: "⟪db-1⟫", password: Some("⟦{pw}⟧") }
{:password "⟦{pw}⟧" :host "⟪db-1⟫"}
(password . "⟦{pw}⟧")
my %cfg = (password => '⟦{pw}⟧', host => '⟪db-1⟫');
redis> AUTH ⟦{alnum20}⟧
AUTH default ⟦{alnum20}⟧
CONFIG SET requirepass ⟦{alnum20}⟧
ACL SETUSER app on >⟦{alnum16}⟧ ~* +@all
db.createUser({user: "app", pwd: "⟦{pw}⟧", roles: ["⟪readWrite⟫"]})
db.auth("app", "⟦{pw}⟧")
< USER mirror\n< PASS ⟦{pw}⟧\n> ⟪530 Login incorrect⟫
a1 LOGIN bob@shop.net ⟦{pw}⟧
<wsse:Password Type="http://docs.oasis-open.org/wss#PasswordText">⟦{pw}⟧</wsse:Password>
j_username=admin&j_password=⟦{alnum12}⟧&submit=Log+in
//reg.shop.net/:_password="⟦{b64_43}⟧="
Environment="DB_PASSWORD=⟦{pw}⟧" ⟪LOG_LEVEL=info⟫
env: [{name: DB_PASSWORD, value: ⟦{pw}⟧}]
helm upgrade shop ⟪./chart⟫ --set db.password=⟦{pw}⟧ --wait
terraform apply -var 'db_password=⟦{pw}⟧' ⟪-auto-approve⟫
vault kv put ⟪secret/orders⟫ password=⟦{pw}⟧
aws ssm put-parameter --name ⟪/prod/db/password⟫ --value ⟦{pw}⟧ --type SecureString
aws secretsmanager put-secret-value --secret-id ⟪prod/db⟫ --secret-string '⟦{pw}⟧'
az keyvault secret set --vault-name ⟪kv⟫ --name db-password --value ⟦{pw}⟧
consul kv put ⟪prod/db/password⟫ ⟦{pw}⟧
etcdctl put ⟪/prod/db/password⟫ ⟦{pw}⟧
kubectl create secret docker-registry regcred --docker-username=ci --docker-password=⟦{pw}⟧
heroku config:set STRIPE_KEY=⟦{alnum32}⟧ -a ⟪shop⟫
gh secret set NPM_TOKEN --body ⟦{alnum36}⟧
fly secrets set SESSION_KEY=⟦{alnum32}⟧
gcloud sql users set-password app --instance=⟪db-1⟫ --password=⟦{pw}⟧
aws rds modify-db-instance --db-instance-identifier ⟪db-1⟫ --master-user-password ⟦{pw}⟧
snmpwalk -v2c -c ⟦{wordpw}⟧ ⟪10.0.0.1⟫
snmp-server community ⟦{wordpw}⟧ RO
wifi psk "⟦{pw}⟧"
WPA2 key for ⟪office⟫: ⟦{pw}⟧
ipsec secret: PSK "⟦{alnum24}⟧"
enable secret 5 ⟦$1${alnum8}${alnum22}⟧
neutron_password = ⟦{alnum20}⟧
rabbit://openstack:⟦{alnum20}⟧@⟪ctl-1⟫:5672/
amqp.password=⟦{alnum16}⟧
"aws_secret_access_key": "⟦{b64_40}⟧"
aws_secret = ⟦{b64_40}⟧
SecretAccessKey=⟦{b64_40}⟧
s3cmd --access_key=⟦AKIA{upper16}⟧ --secret_key=⟦{b64_40}⟧ ls ⟪s3://dumps⟫
mc alias set ⟪minio https://minio:9000⟫ minioadmin ⟦{alnum20}⟧
rclone obscure ⟦{pw}⟧
restic password: ⟦{pw}⟧
gpg --batch --passphrase ⟦{pw}⟧ -d ⟪dump.gpg⟫
pgpass entry ⟪db-1:5432:*⟫:app:⟦{pw}⟧
CREATE USER MAPPING FOR app SERVER ⟪s⟫ OPTIONS (user 'x', password '⟦{pw}⟧');
COPY t FROM 's3://b/k' CREDENTIALS 'aws_access_key_id=⟦AKIA{upper16}⟧;aws_secret_access_key=⟦{b64_40}⟧'
dblink_connect('host=⟪db-1⟫ user=x password=⟦{alnum12}⟧')
Access key ⟦AKIA{upper16}⟧ with secret ⟦{b64_40}⟧
my aws secret is ⟦{b64_40}⟧
client id 4411 / client secret ⟦{alnum32}⟧
Bot token: ⟦MT{alnum22}.G{alnum5}.{alnum38}⟧
bearer ⟦{alnum40}⟧ expired at ⟪10:42⟫
token was ⟦{hex40}⟧, revoked
the api key we use is "⟦{alnum24}⟧"
key for datadog = ⟦{hex32}⟧
dd key ⟦{hex32}⟧ stopped working
new relic license ⟦{hex32}NRAL⟧
PagerDuty integration key ⟦{hex32}⟧ for ⟪sre-primary⟫
integration_key=⟦{hex32}⟧
grafana api key = ⟦eyJrIjoi{alnum40}{alnum12}⟧
sentry dsn https://⟦{hex32}⟧@⟪sentry.shop.net⟫/4
x-shopify-access-token: ⟦{alnum32}⟧
X-Hub-Signature-256: sha256=⟦{hex64}⟧
stripe-signature: t=1764499337,v1=⟦{hex64}⟧
Proxy-Authorization: Bearer ⟦{alnum40}⟧
Authorization: Digest username="app", realm="⟪shop⟫", nonce="{hex32}", response="⟦{hex32}⟧"
Authorization: AWS4-HMAC-SHA256 Credential=⟦AKIA{upper16}⟧/20261130/eu-west-1/s3/aws4_request, Signature=⟦{hex64}⟧
Authorization: HMAC ⟦{b64_43}⟧=
curl -H "X-Api-Key:⟦{alnum32}⟧" ⟪https://api.shop.net/v1⟫
curl ⟪https://api.shop.net/v1⟫ -d '{"apiKey":"⟦{alnum32}⟧"}'
curl -d "grant_type=password&username=ops&password=⟦{alnum12}⟧" ⟪https://idp.shop.net/token⟫
curl --oauth2-bearer ⟦{alnum40}⟧ ⟪https://api.shop.net⟫
wget --header="Authorization: Bearer ⟦{alnum40}⟧" ⟪https://api.shop.net⟫
ssh://ops:⟦{alnum12}⟧@⟪git.shop.net⟫/x.git
git remote add o https://ci:⟦{alnum20}⟧@⟪git.shop.net/infra.git⟫
pip install --index-url https://ci:⟦{alnum20}⟧@⟪pypi.shop.net/simple⟫ shop
https://⟪api.telegram.org⟫/bot⟦{d10}:AA{alnum33}⟧/sendMessage
https://⟪events.pagerduty.com⟫/integration/⟦{hex32}⟧/enqueue
https://⟪api.opsgenie.com⟫/v2/alerts?apiKey=⟦{uuid}⟧
https://⟪hooks.zapier.com/hooks/catch⟫/⟦{d8}/{alnum8}⟧
https://⟪shop.okta.com⟫/login?token=⟦{alnum24}⟧
https://⟪shop.net⟫/reset?token=⟦{alnum40}⟧
magic link https://⟪shop.net⟫/login/⟦{alnum40}⟧
SAMLResponse=⟦{b64_86}{b64_64}⟧
"sessionToken": "⟦{alnum40}⟧"
csrf_token=⟦{alnum40}⟧
_csrf: ⟦{uuid}⟧
XSRF-TOKEN=⟦{alnum32}⟧
remember_token=⟦{d6}|{hex40}⟧
laravel_session=⟦eyJpdiI6I{alnum40}{alnum40}⟧
ASP.NET_SessionId=⟦{alnum24}⟧
sid=⟦{alnum32}⟧; domain ⟪shop.net⟫
device_code=⟦{alnum40}⟧
PIN: ⟦{d4}⟧
the alarm code is ⟦{d6}⟧
your verification code is ⟦{d6}⟧
Passcode ⟦{d6}⟧ for the bridge ⟪INC-4411⟫
backup codes: ⟦{d8}⟧
account admin has password ⟦{pw}⟧ on ⟪nas-1⟫
admin:⟦{pw}⟧ works on ⟪grafana⟫
logged in with admin/⟦{pw}⟧
u: admin p: ⟦{pw}⟧
user=admin pass=⟦{pw}⟧
user admin, pw ⟦{pw}⟧
usr/pwd: app/⟦{pw}⟧
pwd is ⟦{wordpw}⟧
Password changed from ⟦{pw}⟧ to something new
it's ⟦{pw}⟧ (password for ⟪db-4⟫)
pass: "⟦{wordpw}⟧"
the vault unseal key 1 is ⟦{b64_43}⟧=
Unseal Key 1: ⟦{b64_43}⟧=
Initial Root Token: ⟦hvs.{alnum24}⟧
encryption key ⟦{hex64}⟧ used by ⟪ledger⟫
jwt signing key: ⟦{alnum40}⟧
private key is ⟦{hex64}⟧
secret=⟦{alnum24}⟧
secret: ⟦{hex40}⟧
SHARED_SECRET ⟦{alnum24}⟧
tls-crypt key ⟦{hex64}⟧
"password" : "⟦{pw}⟧" ,
password:⟦{pw}⟧
Password = "⟦{pw} {pw}⟧"
PASSWORD	⟦{pw}⟧
password -> ⟦{pw}⟧
password is: ⟦{pw}⟧
passwd=⟦{wordpw}⟧!
db_pwd=⟦{alnum12}⟧,db_host=⟪db-1⟫
--db-password "⟦{pw}⟧"
-Password (ConvertTo-SecureString "⟦{pw}⟧" -AsPlainText -Force)
$password = "⟦{pw}⟧"
String pwd = "⟦{pw}⟧";
password='⟦{alnum6}"{alnum6}⟧'
password="⟦{alnum6}\"{alnum6}⟧"
PASSWORD=⟦{alnum6}&{alnum6}⟧
DB_PASSWORD=⟦{alnum6};{alnum6}⟧
password=⟦{alnum6},{alnum6}⟧ user=⟪app⟫
# pairs, as people write them
ID/PW: shop-admin/⟦{pw}⟧
id/pw shopadmin / ⟦{alnum12}⟧ for ⟪the old CRM⟫
user/password = report:⟦{pw}⟧
10.3.0.9 (ops/⟦{alnum12}⟧) is ⟪the jump host⟫
vnc on ⟪10.3.0.9⟫ --> viewer/⟦{alnum12}⟧
비밀번호: ⟦{pw}⟧
パスワードは⟦{pw}⟧
P/W: ⟦{pw}⟧
pasword=⟦{pw}⟧ host ⟪db-1⟫
ops@⟪10.1.1.4⟫ (pw:⟦{pw}⟧)
account(crm)/pwd(⟦{alnum12}⟧)
the crm-token ⟦{alnum32}⟧ is dead
# a third look: what stands in chats, diffs and consoles
"Env": ["POSTGRES_PASSWORD=⟦{pw}⟧", "POSTGRES_USER=app"]
Access denied for user 'root'@'%' with password '⟦{pw}⟧'
  + password = "⟦{pw}⟧"
  ~ master_password = "⟦{pw}⟧" -> "⟦{pw}⟧"
ansible-playbook site.yml -e "db_pass=⟦{pw}⟧"
-  password: ⟦{pw}⟧\n+  password: ⟦{pw}⟧
> X-Api-Key: ⟦{alnum20}⟧
< set-cookie: session=⟦{alnum24}⟧; Path=/
jdbc.url=jdbc:mysql://h/db?user=u&password=⟦{alnum12}⟧
{\\\"password\\\":\\\"⟦{pw}⟧\\\"}
password=⟦Passw0rd!⟧
password: ⟦Welcome1⟧
pwd=⟦qwerty123⟧
pass=⟦admin123⟧
psql "postgresql://app:⟦{pw}⟧@db-1/shop"
DATABASE_URL='postgres://app:⟦{alnum12}⟧@db-1/shop'
[client]\nuser=root\npassword=⟦{pw}⟧
<connectionString>Server=s;Uid=u;Pwd=⟦{pw}⟧;</connectionString>
"connectionString": "Server=s;User Id=u;Password=⟦{pw}⟧;Encrypt=true"
AMQP_URL=amqp://u:⟦{alnum12}⟧@rabbit:5672
echo ⟦{pw}⟧ | sudo -S systemctl restart x
export AWS_SECRET_ACCESS_KEY=⟦{b64_40}⟧
aws_session_token = ⟦IQoJb3JpZ2luX2Vj{alnum60}⟧
token: ⟦{hex32}⟧
"token":"⟦{hex32}⟧"
Token ⟦{hex32}⟧ expired
got 401 with key ⟦{hex32}⟧
api-key=⟦{uuid}⟧
x-auth: ⟦{alnum24}⟧
X-Service-Token: ⟦{alnum20}⟧
Authorization: ⟦{alnum24}⟧
authorization: bearer ⟦{alnum24}⟧
"headers":{"authorization":["Bearer ⟦{alnum24}⟧"]}
Authorization Bearer ⟦{alnum24}⟧
auth_header: Basic ⟦{b64basic}⟧
hey, grafana admin pw got reset to ⟦{pw}⟧
new creds for jenkins -> admin / ⟦{pw}⟧
root:⟦{pw}⟧@db-1
sudo password on bastion: ⟦{pw}⟧
here you go: ⟦ghp_{alnum36}⟧
wrong password (⟦{pw}⟧) for app
the password changed: ⟦{pw}⟧ -> ⟦{pw}⟧
please use ⟦{pw}⟧ to log in
pw for the vpn = ⟦{pw}⟧
password hint no, password: "⟦kiwi lamp 77 river⟧"
secret_key_base: ⟦{hex64}⟧
FERNET_KEY=⟦{b64_43}=⟧
RAILS_MASTER_KEY=⟦{hex32}⟧
NEXTAUTH_SECRET=⟦{b64_43}=⟧
SENTRY_DSN=https://⟦{hex32}⟧@sentry.shop.net/12
ALGOLIA_ADMIN_KEY=⟦{hex32}⟧
TWILIO_AUTH_TOKEN=⟦{hex32}⟧
MAILGUN_SIGNING_KEY=⟦{hex32}⟧
datadog app key ⟦{hex40}⟧
consul http token ⟦{uuid}⟧
webhook https://hooks.slack.com/services/⟦T0{upper8}/B0{upper8}/{alnum24}⟧
"""

PERSONAL = r"""
bounce for ⟦maria.lopez+shop@correo.es⟧ on ⟪mx-2⟫
From: Jo Doe <⟦jo.doe@kunde.example.com⟧>
user ⟦j_smith99@gmail.com⟧ can't pay, order ⟪A-4411⟫
%7B%22email%22%3A%22⟦ann%40web.de⟧%22%7D
mail to ⟦karl [at] firma [dot] de⟧ please
<mailto:⟦eva@posteo.net⟧|⟦eva@posteo.net⟧> reports ⟪502⟫
call me at ⟦+1 (212) 555-0147⟧
Tel.: ⟦030 1234567⟧
mobile=⟦07700 900123⟧ carrier=⟪o2⟫
whatsapp ⟦+55 11 91234-5678⟧
phone_number: "⟦415-555-0132⟧"
callback ⟦0171/2345678⟧ after 5
card_no=⟦4111111111111111⟧ ⟪declined⟫
Visa ⟦4012 8888 8888 1881⟧
amex ⟦378282246310005⟧ refused by ⟪adyen⟫
IBAN ⟦FR14 2004 1010 0505 0001 3M02 606⟧
refund to ⟦DE89370400440532013000⟧ failed
social security number ⟦078-05-1120⟧
"ssn": "⟦219099999⟧"
passport no. ⟦C01X00T47⟧ rejected by ⟪kyc-svc⟫
NINO: ⟦QQ 12 34 56 C⟧
client: ⟦81.2.69.142⟧, server: ⟪shop.net⟫
X-Real-IP: ⟦2a03:2880:f12f:83:face:b00c:0:25de⟧
⟦93.184.216.34⟧ - bob [29/Nov/2026:10:01:02 +0000] "GET ⟪/x⟫ HTTP/1.1" 200
user logged in from ⟦151.101.1.69⟧ to ⟪vpn-1⟫
customer_ip: "⟦212.58.244.20⟧"
source ip ⟦104.16.132.229⟧ blocked by ⟪waf-1⟫
dob=⟦1984-03-12⟧ rejected by ⟪kyc⟫
date of birth: ⟦12/03/1984⟧
sort code ⟦20-00-00⟧ account ⟦55779911⟧
account number: ⟦12345678⟧ bank ⟪acme⟫
routing number ⟦021000021⟧
customer at ⟦203.0.113.99⟧ sees ⟪502⟫
IP of the customer: ⟦85.214.132.117⟧
blocked ip ⟦185.220.101.1⟧ for user 4411
caller ⟦+49 1512 3456789⟧ hung up
sms to ⟦+447700900123⟧ failed ⟪30003⟫
email=⟦jane.roe@corp.co.uk⟧&x=1
"from": "Jane Roe <⟦jane@roe.org⟧>"
login ⟦bob@shop.example⟧ failed: ⟪invalid_grant⟫
Driver license ⟦D1234567⟧
card ending: full pan ⟦5555-5555-5555-4444⟧
"pan":"⟦5555555555554444⟧"
customer ⟦+49 151 23456789⟧ can't pay
mail from ⟦anna.schmidt@kunde.de⟧ bounced
IP ⟦93.184.216.34⟧ of the customer is blocked
user ⟦maria.garcia@correo.es⟧ reports 500 on /cart
card ⟦4539 1488 0343 6467⟧ declined
"""

HARMLESS = r"""
password must be at least 12 characters
Your password has been reset.
the password is incorrect
password: required
Password: (will be prompted)
password_hash: bcrypt
password_policy: strict
token_endpoint: https://idp.shop.net/oauth2/token
token_type=Bearer expires_in=3600
token refresh took 812ms for tenant acme-prod-2
token count 4096 exceeds limit 2048
max_new_tokens=512 temperature=0.2 top_p=0.95
prompt_tokens=812 completion_tokens=94 total_tokens=906
secretName: wildcard-shop-net-tls
secret "checkout-env" already exists
imagePullSecrets: [regcred]
secrets-store-csi-driver 1.4.2 mounted 3 objects
key "password" not found in Secret shop/orders-db-2
api_key_id=7 rotated by vault-agent
access_key_count 2 of 2 for user ci
public_key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ
authorized_keys updated for deploy
ssh-rsa key 2048 bits deprecated
host key verification failed.
key=orders:2026:11 partition=7 offset=99123
message key order-77123 went to DLQ
primary key violation on orders (id)=(4411)
foreign_key_checks=0
sort_key=created_at
cache_key="product:42:de_DE"
idempotency-key: 0b0e7c3e-5f6b-4a1e-9d7a-1b2c3d4e5f60
auth=ok user=app db=orders
auth method scram-sha-256 not supported
Authorization: Bearer <token>
Authorization: Bearer ${ACCESS_TOKEN}
curl -H "Authorization: Bearer $(vault read -field=token auth/ci)" https://api.shop.net
curl -u $USER:$PASS https://nexus.shop.net
curl -u "$NEXUS_USER:$NEXUS_PASSWORD" https://nexus.shop.net
mysql -u root -p$MYSQL_ROOT_PASSWORD shop
mysql -p -u app -h db-1 orders
mysql --port 3306 --protocol tcp -P 3306
redis-cli -h redis-1 -p 6380 info
docker run -p 127.0.0.1:5432:5432 -e POSTGRES_PASSWORD postgres:16
psql "host=db-1 user=app password=$PGPASSWORD"
PGPASSWORD="$(cat /run/secrets/pg)" psql -h db-1
export TOKEN=$(kubectl -n ci create token builder)
kubectl get secret orders-db -o jsonpath='{.data.password}' | base64 -d
kubectl create secret generic db --from-literal=password="$PW"
kubectl create secret docker-registry regcred --docker-password=<password>
vault kv get -field=password secret/orders/db
password = getpass.getpass()
password := os.Getenv("DB_PASSWORD")
const token = localStorage.getItem("token");
token = request.headers.get("X-Token")
String password = config.getPassword();
private String password;
password: Optional[str] = None
if (password.length < 8) throw new Error("too short")
self.password = password
secret = kms.decrypt(blob)
at org.apache.kafka.common.security.authenticator.SaslClientAuthenticator.authenticate(SaslClientAuthenticator.java:430)
javax.crypto.BadPaddingException: Given final block not properly padded
java.security.UnrecoverableKeyException: Cannot recover key
com.shop.security.TokenExpiredException: token expired at 2026-11-30T10:00:00Z
ERROR: role "reporting" password expired
pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=10.3.2.1 user=root
Failed password for invalid user admin from 10.2.3.4 port 51234 ssh2
Accepted publickey for deploy from 10.2.3.4 port 51234 ssh2: ED25519 SHA256:8f0Yh1zQm4o0m6Wv5fXo2h1q7jX1m2n3b4v5c6x7z8A
session opened for user root by (uid=0)
Session 4411 of user deploy.
session_id not found, creating a new one
cookie jar is full (4096)
user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36
x-amz-request-id: 4442587FB7D0A2F9
x-amz-id-2: vlR7PnpV2Ce81l0PRw6jlUpck7Jo5ZsQjryTjKlc5aLWGVHPZLj5NeC6qMa0emYBDXOo6QBU0Wo=
sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0
git rev-parse HEAD -> 4b825dc642cb6eb9a060e54bf8d69288fbee4904
commit 4b825dc (HEAD -> main) Add token bucket limiter
Signed-off-by on branch feature/password-reset-2
PR #4411 rename SECRET_KEY to APP_SECRET_KEY
feature flag auth.token-rotation.v2 on for 10%
chart kube-prometheus-stack-61.3.2 pods 3/3
node ip-10-24-7-113.eu-west-1.compute.internal NotReady
pod token-service-5d9c7b6f8-abcde in ns identity
container id 3b1f0c7d9e8a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c exited
kafka cluster id 4L6g3nShT-eMCtK--X86sw
topic payments.tokens.v1 lag 99123 group token-consumer-2
zookeeper session 0x10000a1b2c3d4e5 expired
LSN 16/B374D848 xid 7712345 pid 28143
certificate CN=api.shop.net serial 04:9f:2c:4e:1a:b3 expires in 12d
CRL https://crl.shop.net/root.crl not reachable
dns shop.net TXT "v=spf1 include:_spf.shop.net -all"
phone-service 5xx 12% since 10:42
call duration 00:12:33, 415 ms p99
order 2026-11-30-0042 total 1299.00
ticket 4411-555-0100 assigned
invoice 4111 1111 1111 1112 lines 3
bytes 5368709120 of 10737418240 used
epoch 1764499337 epoch_ms 1764499337123
ip 10.0.0.1 remote_addr=10.1.2.3 client_ip=192.168.3.4
client 172.16.3.4 connected to 52.95.110.1:443
resolver 9.9.9.9 timed out
upstream server 3.120.4.5:443 refused
image harbor.shop.net/shop/api:1.42.0@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0
github.com/shop/infra@v1.2.3 updated
root@db-1:~# systemctl status postgresql
ssh ops@web-1.shop.net uptime
git clone git@git.shop.net:platform/infra.git
rsync -a backup@nas-1.shop.net:/data /mnt
smtp 550 5.1.1 user unknown
postfix/qmgr[2211]: 4B8F21C0A3: removed
PASSWORD_RESET_URL=https://shop.net/reset
SECRET_MANAGER_PROJECT=shop-prod
TOKEN_BUCKET_SIZE=100 TOKEN_REFILL_RATE=10/s
JWT_ISSUER=https://idp.shop.net JWT_AUDIENCE=orders
SESSION_TIMEOUT=1800 COOKIE_DOMAIN=.shop.net
AUTH_MODE=ldap AUTH_SERVER=ldap-1
passes=3 passed=44 bypass=false compass=n
author=jdoe authority=shop-ca authenticated=true
keyboard=us keyring=/etc/apt/keyrings/docker.gpg
monkey=1 turkey=2 hockey=3
secretary of state
tokenize("a b c") -> 3
pinned version 1.2.3, pin 4 CPUs, spin lock
PIN pad offline at store 4411
code=AC04 error_code=40001 sqlstate=23505
the key is to restart replicas one by one
the secret is that nobody reads the runbook
credentials: include
credentials for vault are managed by terraform
login page returns 500
login failed for 3 users
user/pass auth disabled
login/password form broken since 1.42.0
id/pw mismatch for user bob42
root/Documents2024
admin/Dashboard2 returned 500
app/Http/Controllers/Auth2Controller.php line 41
postgres:16.3-alpine3.20 pulled
postgres:15Beta1 not found
10.0.0.1 (eth0/Rack12B)
node-1@10.0.0.4 (worker/Zone2)
AUTH failed for user app1
LOGIN failed user=bob attempts=3
--- PASS: TestLoginV2 (0.00s)
PASS TestAuthToken2
PASS  src/auth/Token2.test.ts (4.2 s)
PASS ./lib/Session3Store.spec.js
auth TestUser01 ok
Login Page2 slow
pi_3MtwBwLkdIwHu7ix28a3tqPa requires_payment_method token service
evt_1NG8Du2eZvKYlo2CUI79vXWy delivered to auth webhook
chatcmpl-9aBcDeFgHiJkLmNoPqRsTuVwXyZ12 used 412 tokens
request req_7gHs8JkLmN2pQr in auth-service
kafka cluster Kq7Xb2YcdEfGhIjKlMnOpQ lost token topic
nextToken=AAMA-EFRSURBSGhtRjZ0 page 3
continuationToken: 1-ABCdef123456
pageToken CAUQAA
etag W/"33a64df551425fcc55e4d42a148795d9f25f89d4"
X-Cache-Key: /v1/orders?id=4411
cache-key=v2-linux-npm-9f8e7d6c5b4a
Cache-Control: private, max-age=0
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=
ssh key SHA256:Xq7Yb2ZcdEfGhIjKlMnOpQrStUvWxYz0123456789AB added for deploy
gpg: key 9F8E7D6C5B4A3F2E: public key "Release Bot" imported
gpg: Signature made using RSA key 9F8E7D6C5B4A3F2E1A0B9C8D7E6F5A4B3C2D1E0F
apt-key deprecated, NO_PUBKEY 871920D1991BC93C
public key pin sha256//r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=
certificate serial 03:AC:5C:26:6A:0B:40:9B:8F:0B:79:F2:AE:46:25:77
subject key identifier 5E:8C:53:18:22:60:1D:56:71:D6:6A:A0:CC:64:A0:60
nonce=5f2b9c mismatch in oauth flow
state=xyz&code=expired in callback
GET /callback?code=invalid_grant&state=1
oauth error: invalid_client client_id=checkout-web
client_id=3f2c1b0a9e8d7c6b5a49 not allowed
AppId: 4f1c2d3e-5a6b-7c8d-9e0f-1a2b3c4d5e6f
tenant 4f1c2d3e-5a6b-7c8d-9e0f-1a2b3c4d5e6f: token issuance 5xx
keyVersion=3f2c1b0a9e8d7c6b5a49 in vault kv
key vault kv-shop-prod throttled
secret version 4f1c2d3e5a6b7c8d9e0f1a2b3c4d5e6f enabled
Secret orders-db-v20261130 rotated
secret/orders-db-v2 updated by external-secrets
token bucket tb_orders_v2 empty
token ring 10.0.0.1
session count 4411, sessions_active=99
sessionid missing in 12% of requests
cookie size 4099 bytes
Set-Cookie: theme=dark; Path=/; Max-Age=31536000
csrf check failed for /cart
jwt kid=2026-11-a not found in JWKS
JWT alg HS256 rejected, want RS256
auth code flow step 2 of 3
error code 40163: code already used
exit code 137 for pod auth-7d9c5b6f4d-x2k8q
pin 8 of gpio, PIN=8
verification code path not covered by tests
OTP delivery latency p99 8.2 s
passcode feature flag on
account number column is nullable
account 4411 locked after 5 attempts
routing number of shards 12
sort code path ab12
born 3 seconds ago
phone numbers table 12345678 rows
call 4411 times per second
called 12345678 times
reach 99.95 %
mobile app 4.12.0 build 20261130
fax queue 0
text column too long 12345678 bytes
contact sre-oncall in #incidents
user agent okhttp/4.12.0
visitor count 104.16.132.229
from 52.95.110.1 to 10.0.0.4 dropped 12%
peer 3.120.4.5 down
DNS 1.1.1.1 and 9.9.9.9 slow
src=10.1.2.3 dst=52.95.110.1 proto=tcp
client 10.4.5.6 disconnected
master_key_rotation: enabled
kms key alias/checkout-prod pending deletion
kms key 4f1c2d3e-5a6b-7c8d-9e0f-1a2b3c4d5e6f disabled
AccessKeyLastUsed 2026-11-30T10:00:00Z
api key rotation on 2026-12-01
API key quota 4096 per day
password age 91 days
password expires 2026-12-01
password hash upgrade bcrypt -> argon2id
Passwords: 0 leaked, 12 weak
pwd: /srv/app
PWD=/home/deploy/shop-2.4.1
cwd=/srv/app pw=0
mysql -uroot -p < dump.sql
mysql -h db-1 -P 3307 -p shop
docker run --rm -p 8080:8080 -u 1000:1000 shop/api:1.42.0
docker compose -p shop up -d
curl -u deploy https://nexus.shop.net
curl -A "Mozilla/5.0" -o out.json https://api.shop.net
tar -xzpf backup.tgz
cp -p a b; mkdir -p /a/b
ssh -p 2222 ops@web-1 'echo ok'
nc -p 4444 -l
psql -p 5433 -U app orders
redis-cli -p 6380 -a "$REDIS_PASSWORD" ping
ps -p 1234 -o comm
zip -r backup.zip /data -x '*.log'
vault kv get secret/orders/db
vault token renew -increment=1h
kubectl create token builder --duration=10m
aws sts get-caller-identity --profile prod-admin
az keyvault secret show --vault-name kv-shop --name db-password
gh secret list --repo shop/api
export KUBECONFIG=/home/ops/.kube/config
openssl s_client -connect api.shop.net:443 -servername api.shop.net
ssh root@web-1 password prompt hangs
ops@10.1.1.4 (token refresh job)
password login for deploy@bastion-2 is disabled
the key is node-17, restart it
the secret is orders-db-v3 in namespace shop
token is valid until 2026-12-01T10:00:00Z
credentials are in vault at secret/shop/orders
password is stored in 1Password item "Orders DB prod 2"
login is via SSO only (okta-prod-eu1)
passwords were rotated by job rotate-2026-11
use kubectl as user admin-eu1
api key was last used 3d4h ago
api key id is k-20261130-7
access key 2 of 2 is inactive
secret store is vault-prod-eu1:8200
auth is handled by auth-gateway-v2
pass to sre-primary-2 if unresolved
session is pinned to node-3a
cookie is 4.2KB
key rotation moved from job r-41 to job r-42
password policy: min 12 chars, 1 upper, 1 digit
password check took 812ms (p99 2.31s)
Bearer auth with RS256 fails on kid 2026-11-a
client secret expires in 14d (AADSTS7000222)
secret "tls-wildcard-2026" is type kubernetes.io/tls
Error: secrets "regcred-eu1" is forbidden: User "system:serviceaccount:ci:builder1" cannot get resource
vault: * permission denied on secret/data/payments/db-v2
key ring us-central1/kr-prod-1 not found
token ttl is 1h, renewed by agent-7f
licence key check for host gw-eu-2 failed
the password field is missing in payload v2
rate limit for key ip:10.1.2.3 exceeded
redis key session:4f1c:cart not found
kafka key null for partition 7
cache key user:4411:v2 hot
pk=order#4411 sk=item#2
primary key (id)=(4411) already exists
etcd key /registry/secrets/shop/orders-db-v2 too large (1.2MB)
config key spring.datasource.hikari.maximum-pool-size=20
key vault secret uri https://kv-shop.vault.azure.net/secrets/orders-db/4f1c2d3e5a6b7c8d9e0f1a2b3c4d5e6f
"""


def values(seed: int) -> dict[str, str]:
    """Fresh values for one line."""
    rng = random.Random(seed)

    def pick(alphabet: str, count: int) -> str:
        return "".join(rng.choice(alphabet) for _ in range(count))

    def mixed(count: int) -> str:
        return (
            pick(string.ascii_uppercase, 1)
            + pick(string.digits, 1)
            + pick(LETTERS, count - 3)
            + pick(string.ascii_lowercase, 1)
        )

    one, two = rng.sample(PASSWORDS, 2)
    made = {
        "pw": rng.choice(
            [
                f"{one}{rng.randint(10, 99)}!{two}",
                f"{one}{rng.randint(100, 9999)}",
                f"{pick(LETTERS, 5)}{rng.choice('!?*#%+')}7{pick(LETTERS, 6)}k",
            ]
        ),
        "wordpw": f"{one.lower()}{rng.choice('-_')}{two.lower()}-{rng.randint(100, 999)}",
        "uuid": f"{pick('0123456789abcdef', 8)}-{pick('0123456789abcdef', 4)}-4{pick('0123456789abcdef', 3)}-a{pick('0123456789abcdef', 3)}-{pick('0123456789abcdef', 12)}",
    }
    made["jwt"] = ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (
            b'{"alg":"HS256","typ":"JWT"}',
            f'{{"sub":"{mixed(9)}","iat":1764499337}}'.encode(),
            rng.randbytes(32),
        )
    )
    made["b64basic"] = base64.b64encode(f"ci-bot:{made['pw']}".encode()).decode()
    made["b64dsn"] = base64.b64encode(f"postgres://app:{made['pw']}@db-1:5432/x".encode()).decode()
    for name, alphabet in (
        ("hex", "0123456789abcdef"),
        ("d", string.digits[1:]),
        ("upper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    ):
        made |= {f"{name}{count}": pick(alphabet, count) for count in (4, 6, 8, 10, 12, 16, 18, 27, 32, 40, 58, 64)}
    made |= {
        f"alnum{count}": mixed(count)
        for count in (5, 6, 8, 12, 14, 16, 18, 20, 22, 24, 26, 28, 31, 32, 33, 34, 36, 38, 40, 43, 46, 60, 64)
    }
    made |= {f"b64_{count}": mixed(4) + pick(LETTERS + "+/", count - 4) for count in (40, 43, 52, 60, 64, 86)}
    return made


def _fill(known: dict[str, str], found: re.Match[str]) -> str:
    return known.get(found[1], found[0])


def rows(seed: int = 1) -> list[dict[str, Any]]:
    """All lines in the shape of the measuring sets: id, kind, text, spans, keep."""
    made: list[dict[str, Any]] = []
    for kind, lines in (("secret", SECRETS), ("personal", PERSONAL), ("benign", HARMLESS)):
        for number, template in enumerate(
            line for line in lines.strip().split("\n") if line[:2] != "# " and line != "⟦https://⟫"
        ):
            if kind != "benign":
                line = re.sub(
                    r"\{(\w+)\}",
                    partial(_fill, values(seed * 1000 + number)),
                    template,
                )
                line = line.replace("@@", "").replace("\\n", "\n").replace("\\\n", "\\n").replace("\\x1b", "\x1b")
            else:
                line = template
            text, spans, keep, position = "", [], [], 0
            for found in re.finditer(r"⟦(.*?)⟧|⟪(.*?)⟫", line, re.S):
                text += line[position : found.start()]
                inner = found[1] if found[1] is not None else found[2]
                (spans if found[1] is not None else keep).append([len(text), len(text) + len(inner)])
                text += inner
                position = found.end()
            text += line[position:]
            made.append({"id": f"{kind}-{number}", "kind": kind, "text": text, "spans": spans, "keep": keep})
    return made
