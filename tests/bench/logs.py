"""Harmless log lines in the formats of what runs in a cluster, made at random: none of them holds anything to mask."""

# ruff: noqa: E501 (log lines are long)

from __future__ import annotations

import random
import uuid

_SERVICES = (
    "checkout-api",
    "orders-svc",
    "auth-gateway",
    "token-service",
    "session-store",
    "payments-worker",
    "key-manager",
    "password-rotator",
)
_TEMPLATES = r"""
{mon} {d2} {clock} {host} sshd[{pid}]: Accepted publickey for deploy from {ip} port {port} ssh2: ED25519 SHA256:{b64_43}
{mon} {d2} {clock} {host} sshd[{pid}]: Failed password for invalid user {user} from {ip} port {port} ssh2
{mon} {d2} {clock} {host} sshd[{pid}]: Failed password for root from {ip} port {port} ssh2
{mon} {d2} {clock} {host} sshd[{pid}]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip} user={user}
{mon} {d2} {clock} {host} sshd[{pid}]: Connection closed by authenticating user {user} {ip} port {port} [preauth]
{mon} {d2} {clock} {host} sshd[{pid}]: error: maximum authentication attempts exceeded for {user} from {ip} port {port} ssh2 [preauth]
{mon} {d2} {clock} {host} sshd[{pid}]: Received disconnect from {ip} port {port}:11: Bye Bye [preauth]
{mon} {d2} {clock} {host} sudo[{pid}]:   deploy : TTY=pts/0 ; PWD=/srv/app ; USER=root ; COMMAND=/usr/bin/systemctl restart {svc}
{mon} {d2} {clock} {host} systemd[1]: {svc}.service: Main process exited, code=exited, status={n3}/n/a
{mon} {d2} {clock} {host} systemd[1]: user@1000.service: Consumed {n3}ms CPU time.
{mon} {d2} {clock} {host} systemd[1]: Started session-{n4}.scope - Session {n4} of User deploy.
{mon} {d2} {clock} {host} systemd-logind[{pid}]: New session {n4} of user deploy.
{mon} {d2} {clock} {host} systemd-networkd[{pid}]: eth0: DHCPv4 address {ip}/20 via {ip} acquired from {ip}
{mon} {d2} {clock} {host} kernel: [{n5}.{n6}] Out of memory: Killed process {pid} (java) total-vm:{n7}kB, anon-rss:{n7}kB, oom_score_adj:{n3}
{mon} {d2} {clock} {host} kernel: [{n5}.{n6}] TCP: request_sock_TCP: Possible SYN flooding on port {port}. Sending cookies.
{mon} {d2} {clock} {host} kernel: [UFW BLOCK] IN=eth0 OUT= MAC={mac} SRC={ip} DST={ip} LEN=60 TTL=47 ID={n5} PROTO=TCP SPT={port} DPT={port}
{mon} {d2} {clock} {host} CRON[{pid}]: (root) CMD (/usr/local/bin/rotate-secrets.sh >/dev/null 2>&1)
{mon} {d2} {clock} {host} chronyd[{pid}]: Selected source {ip}
{mon} {d2} {clock} {host} dockerd[{pid}]: time="{iso}" level=error msg="Handler for POST /v1.43/containers/{hex64}/start returned error: OCI runtime create failed"
I{n4} {clock}.{n6}   {pid} kubelet.go:2422] "SyncLoop (PLEG): event for pod" pod="{ns}/{pod}" event={{"ID":"{uuid}","Type":"ContainerStarted","Data":"{hex64}"}}
E{n4} {clock}.{n6}   {pid} pod_workers.go:1300] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"{svc}\" with CrashLoopBackOff: \"back-off 5m0s restarting failed container={svc} pod={pod}_{ns}({uuid})\"" pod="{ns}/{pod}" podUID="{uuid}"
W{n4} {clock}.{n6}   {pid} reflector.go:539] object-"{ns}"/"{svc}-token": failed to list *v1.Secret: secrets "{svc}-token" is forbidden: User "system:node:{host}" cannot list resource "secrets" in API group "" in the namespace "{ns}"
E{n4} {clock}.{n6}   {pid} secret.go:194] Couldn't get secret {ns}/{svc}-db-password: secret "{svc}-db-password" not found
E{n4} {clock}.{n6}   {pid} nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/secret/{uuid}-{svc}-tls podName:{uuid} nodeName:}}" failed. No retries permitted until {iso} (durationBeforeRetry 2m2s)
I{n4} {clock}.{n6}   {pid} prober.go:107] "Probe failed" probeType="Readiness" pod="{ns}/{pod}" podUID="{uuid}" containerName="{svc}" probeResult="failure" output="HTTP probe failed with statuscode: 503"
I{n4} {clock}.{n6}   {pid} scope.go:117] "RemoveContainer" containerID="{hex64}"
W{n4} {clock}.{n6}   {pid} certificate_manager.go:562] kubernetes.io/kubelet-serving: Failed while requesting a signed certificate from the control plane
{n2}s Warning FailedMount pod/{pod} MountVolume.SetUp failed for volume "{svc}-credentials": secret "{svc}-credentials" not found
{n2}m Normal Pulled pod/{pod} Successfully pulled image "{registry}/{svc}@sha256:{hex64}" in {n4}ms
{n2}m Normal Scheduled pod/{pod} Successfully assigned {ns}/{pod} to ip-10-{n2}-{n2}-{n2}.eu-west-1.compute.internal
{ip} - - [{d2}/{mon}/2026:{clock} +0000] "GET /api/v1/tokens/{uuid} HTTP/1.1" 200 {n4} "-" "okhttp/4.12.0" {n3} 0.{n3}
{ip} - - [{d2}/{mon}/2026:{clock} +0000] "POST /oauth/token HTTP/1.1" 401 {n3} "https://shop.example/login" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
{ip} - - [{d2}/{mon}/2026:{clock} +0000] "GET /cart?item={n6}&session=new&page=2 HTTP/2.0" 499 0 "-" "curl/8.5.0"
{slashdate} {clock} [error] {pid}#{n2}: *{n7} upstream timed out (110: Connection timed out) while reading response header from upstream, client: {ip}, server: shop.internal, request: "POST /password/reset HTTP/1.1", upstream: "http://{ip}:8080/password/reset", host: "shop.internal"
{slashdate} {clock} [error] {pid}#{n2}: *{n7} SSL_do_handshake() failed (SSL: error:0A00006C:SSL routines::bad key share) while SSL handshaking, client: {ip}, server: 0.0.0.0:443
{slashdate} {clock} [warn] {pid}#{n2}: conflicting server name "auth.shop.internal" on 0.0.0.0:443, ignored
{slashdate} {clock} [error] {pid}#{n2}: *{n7} limiting requests, excess: {n2}.{n3} by zone "token_bucket", client: {ip}
{isodate} {clock}.{n3} UTC [{pid}] FATAL:  password authentication failed for user "{user}"
{isodate} {clock}.{n3} UTC [{pid}] DETAIL:  Connection matched pg_hba.conf line {n2}: "host all all {ip}/16 scram-sha-256"
{isodate} {clock}.{n3} UTC [{pid}] LOG:  duration: {n4}.{n3} ms  statement: SELECT id, token_hash FROM sessions WHERE user_id = $1 AND expires_at > now()
{isodate} {clock}.{n3} UTC [{pid}] ERROR:  duplicate key value violates unique constraint "api_keys_pkey"
{isodate} {clock}.{n3} UTC [{pid}] DETAIL:  Key (token_id)=({n7}) already exists.
{isodate} {clock}.{n3} UTC [{pid}] LOG:  checkpoint complete: wrote {n4} buffers (3.1%); 0 WAL file(s) added; lsn={n1}/{hex8}, redo lsn={n1}/{hex8}
{isodate} {clock}.{n3} UTC [{pid}] FATAL:  sorry, too many clients already
{isodate} {clock}.{n3} UTC [{pid}] {user}@orders ERROR:  deadlock detected
{isodate} {clock}.{n3} UTC [{pid}] FATAL:  no pg_hba.conf entry for host "{ip}", user "{user}", database "orders", no encryption
[{isodate} {clock},{n3}] INFO [GroupCoordinator {n1}]: Preparing to rebalance group {svc}-consumer in state PreparingRebalance with old generation {n3} (__consumer_offsets-{n2}) (reason: Adding new member {svc}-{uuid} with group instance id None)
[{isodate} {clock},{n3}] ERROR [ReplicaManager broker={n1}] Error processing append operation on partition payments.tokens-{n2} (kafka.server.ReplicaManager)
[{isodate} {clock},{n3}] INFO [Partition orders-{n2} broker={n1}] ISR updated to {n1},{n1} and version updated to {n3} (kafka.cluster.Partition)
[{isodate} {clock},{n3}] WARN [SocketServer listenerType=ZK_BROKER, nodeId={n1}] Unexpected error from /{ip} (channelId={ip}:9092-{ip}:{port}-{n4}); closing connection (org.apache.kafka.common.network.Selector)
[{isodate} {clock},{n3}] ERROR [Controller id={n1}] Failed authentication with {host}/{ip} (SSL handshake failed) (org.apache.kafka.common.network.Selector)
[{isodate} {clock},{n3}] INFO Opening socket connection to server {host}/{ip}:2181. (org.apache.zookeeper.ClientCnxn) sessionid = 0x{hex16}
[Consumer clientId={svc}-{n1}, groupId={svc}] Offset commit failed on partition orders-{n2} at offset {n7}: The coordinator is not aware of this member.
java.lang.IllegalStateException: Cannot get a connection, pool error Timeout waiting for idle object
	at com.shop.auth.TokenService.validate(TokenService.java:{n3})
	at org.springframework.security.authentication.dao.DaoAuthenticationProvider.additionalAuthenticationChecks(DaoAuthenticationProvider.java:{n2})
	at io.jsonwebtoken.impl.DefaultJwtParser.parse(DefaultJwtParser.java:{n3}) ~[jjwt-impl-0.12.6.jar:0.12.6]
	at java.base/javax.crypto.Cipher.doFinal(Cipher.java:{n4}) ~[?:?]
	at jdk.proxy2/jdk.proxy2.$Proxy{n3}.findBySessionKey(Unknown Source)
	at com.shop.orders.OrderController$$SpringCGLIB$$0.<generated>
Caused by: org.postgresql.util.PSQLException: FATAL: password authentication failed for user "{user}"
Caused by: javax.net.ssl.SSLHandshakeException: PKIX path building failed: unable to find valid certification path to requested target
Caused by: com.zaxxer.hikari.pool.HikariPool$PoolInitializationException: Failed to initialize pool: Connection to {host}:5432 refused
	Suppressed: java.security.InvalidKeyException: Wrong key size: {n3} bits for {svc}
	... {n2} common frames omitted
{iso}  WARN {pid} --- [nio-8080-exec-{n2}] c.s.a.JwtTokenFilter : JWT signature does not match locally computed signature, traceId={hex32}
{iso} ERROR {pid} --- [  kafka-{n1}] o.a.k.c.NetworkClient : [Producer clientId=producer-{n1}] Connection to node -{n1} ({host}/{ip}:9092) could not be established.
{iso} level=info ts={epoch}.{n3} caller=main.go:{n3} msg="token refreshed" component=auth trace_id={hex32} span_id={hex16} duration={n3}ms
{iso} level=error caller=notify.go:{n3} component=dispatcher msg="Notify for alerts failed" num_alerts={n2} err="{svc}/webhook[0]: notify retry canceled after {n2} attempts: unexpected status code 502"
{{"level":"error","ts":{epoch}.{n6},"logger":"{svc}","msg":"token validation failed","error":"token is expired by {n2}m{n2}s","request_id":"{uuid}","commit":"{hex40}"}}
{{"time":"{iso}","level":"WARN","msg":"secret rotation due","secret":"{ns}/{svc}-credentials","age_days":{n2},"version":"{hex8}"}}
{{"timestamp":{epoch_ms},"service":"{svc}","status":401,"path":"/v1/session/{uuid}","user_id":{n6},"latency_ms":{n3},"token_type":"Bearer","auth":"jwt"}}
{{"@timestamp":"{iso}","kubernetes":{{"pod":"{pod}","container_id":"{hex64}","node":"{host}"}},"message":"key rotation finished","keys_rotated":{n2}}}
{{"type":"access","method":"GET","uri":"/api/keys?limit=50&cursor={n7}","status":200,"bytes":{n5},"remote":"{ip}:{port}","x_request_id":"{hex32}"}}
time="{iso}" level=warning msg="Failed to refresh credentials" app={svc} revision={hex40} project=default
{iso} [info] [engine] started (pid={pid}) commit {hex10}
{iso} WARN  vault.expiration: lease revoked: lease_id=auth/kubernetes/login/h{hex64}
{iso} [ERROR] auth.kubernetes: login unauthorized: err="lookup failed: service account unauthorized; this could mean it has been deleted or recreated with a new token"
{iso} [INFO]  core: post-unseal setup complete; seal generation={n1}, key shares={n1}, threshold={n1}
{pid}:M {d2} {mon} 2026 {clock}.{n3} # Error condition on socket for SYNC: Connection refused, master {host}:6379 repl offset {n7}
{pid}:M {d2} {mon} 2026 {clock}.{n3} * {n3} changes in 60 seconds. Saving... replid {hex40}
{pid}:S {d2} {mon} 2026 {clock}.{n3} # Warning: {n5} keys evicted, maxmemory-policy allkeys-lru, keyspace hits={n7}
envoy: [{isodate}T{clock}.{n3}Z] "GET /session/validate HTTP/2" 503 UF,URX upstream_reset_before_response_started{{connection_termination}} - "-" 0 91 {n2} - "{ip}" "grpc-go/1.64" "{uuid}" "{svc}.{ns}:8080" "{ip}:8080"
istiod: {iso} info ads SDS: PUSH request for node:{pod}.{ns} resources:1 size:{n1}.{n1}kB resource:kubernetes://{svc}-tls
coredns: [INFO] {ip}:{port} - {n5} "A IN {svc}.{ns}.svc.cluster.local. udp 61 false 512" NXDOMAIN qr,aa,rd 154 0.000{n3}s
etcd: {{"level":"warn","ts":"{iso}","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"{n3}.{n3}ms","prefix":"read-only range ","request":"key:\"/registry/secrets/{ns}/{svc}-token-{hex5}\" ","response":"range_response_count:1 size:{n4}"}}
terraform: aws_secretsmanager_secret.{user}: Refreshing state... [id=arn:aws:secretsmanager:eu-west-1:{acct}:secret:prod/{svc}-{alnum6}]
arn:aws:sts::{acct}:assumed-role/{svc}-irsa/i-0{hex16} is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:eu-west-1:{acct}:key/{uuid}
argocd: application {svc} sync to {hex40} failed: one or more objects failed to apply, reason: Secret "{svc}-env" is invalid: data[password]: Required value
git: fatal: Could not read from remote repository git@git.shop.internal:platform/{svc}.git at {hex10}
docker: {registry}/{svc}:{n1}.{n2}.{n1}-{hex8} digest: sha256:{hex64} size: {n4}
helm: release {svc} revision {n2} chart {svc}-{n1}.{n2}.{n1} values checksum/secret: {hex64}
npm ERR! 404 Not Found - GET https://registry.shop.internal/@shop%2fauth-token - not found
pip: Downloading cryptography-{n2}.0.{n1}-cp311-abi3-manylinux_2_28_x86_64.whl (4.{n1} MB)
rabbit: closing AMQP connection <0.{n5}.0> ({ip}:{port} -> {ip}:5672 - {svc}:{n1}, vhost: '/', user: '{user}'): client unexpectedly closed TCP connection
rabbit: queue 'tokens.retry' in vhost '/' has {n5} messages, routing_key: orders.{user}.created
mysqld: {iso} {n4} [Note] Access denied for user '{user}'@'{ip}' (using password: YES)
mysqld: {iso} {n4} [Warning] Aborted connection {n4} to db: 'orders' user: '{user}' host: '{ip}' (Got timeout reading communication packets)
mongod: {{"t":{{"$date":"{iso}"}},"s":"I","c":"ACCESS","id":{n5},"ctx":"conn{n4}","msg":"Authentication failed","attr":{{"mechanism":"SCRAM-SHA-256","principalName":"{user}","authenticationDatabase":"admin","remote":"{ip}:{port}"}}}}
grafana: logger=context userId={n3} orgId=1 uname={user} t={iso} level=info msg="Request Completed" method=GET path=/api/serviceaccounts/{n2}/tokens status=200 remote_addr={ip} time_ms={n2}
prometheus: ts={iso} caller=scrape.go:{n4} level=debug component="scrape manager" scrape_pool=serviceMonitor/{ns}/{svc}/0 target=http://{ip}:9090/metrics err="context deadline exceeded"
http_requests_total{{service="{svc}",path="/api/token",code="401"}} {n7} {epoch_ms}
auth_token_cache_hits_total{{pod="{pod}"}} {n7}
process_resident_memory_bytes{{job="{svc}"}} {n1}.{n6}e+09
Resolved {n2} packages in {n3}ms; lock {hex64}
order {n7} for customer {n6} paid {n4} cents, psp_ref {hex16}, retry {n1}/5
job {n7} build {n10} commit {hex7} branch feature/{svc}-keys duration {n4}s
x-request-id={uuid} x-b3-traceid={hex32} x-b3-spanid={hex16} tenant={user} took={n4}us
gc: pause {n2}.{n3}ms heap {n4}M->{n3}M({n4}M) cause=G1 Evacuation Pause id={n5}
offset={n13} partition={n2} leader_epoch={n2} high_watermark={n13} log_start={n10}
id={n16} shard={n2} snowflake={n18} seq={n4}
thread 0x0000{hex12} at 0xffffffff{hex8} pc=0x{hex8}
 {n5} postgres  20   0  {n7} {n6} {n5} S  {n2}.3  {n1}.1 {n3}:{n2}.{n2} postgres: {user} orders {ip}({port}) idle in transaction
tcp        0      0 {ip}:{port}          {ip}:5432           ESTABLISHED {pid}/java
Filesystem /dev/nvme{n1}n1p1 {n7} {n7} {n6} {n2}% /var/lib/kubelet/pods/{uuid}/volumes/kubernetes.io~secret/{svc}-token
drwx------ 2 root root 4096 {mon} {d2} 10:42 .ssh
-rw-r----- 1 deploy deploy {n4} {mon} {d2} 10:42 secrets.enc.yaml
"""


def harmless(count: int = 5_000, seed: int = 7) -> list[str]:
    """`count` lines, every template about equally often."""
    rng = random.Random(seed)
    templates = [line for line in _TEMPLATES.split("\n") if line]
    return [templates[index % len(templates)].format(**_values(rng)) for index in range(count)]


def _values(rng: random.Random) -> dict[str, object]:
    svc = rng.choice(_SERVICES)
    letters = "bcdfghjklmnpqrstvwxz2456789"

    def pick(alphabet: str, size: int) -> str:
        return "".join(rng.choice(alphabet) for _ in range(size))

    clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
    day = f"{rng.randint(1, 28):02}"
    values: dict[str, object] = {
        "mon": rng.choice(("Jan", "Mar", "Nov", "Dec")), "d2": day, "clock": clock, "isodate": f"2026-11-{day}", "slashdate": f"2026/11/{day}",
        "iso": f"2026-11-{day}T{clock}.{rng.randint(0, 999):03}Z", "host": rng.choice(("db-primary", "node-7", "web-12", "kafka-1", "ip-10-24-7-113")),
        "pid": rng.randint(300, 99999), "port": rng.choice((22, 443, 5432, rng.randint(30000, 65000))), "user": rng.choice(("app", "reporting", "admin", "orders_rw", "svc-backup")),
        "ip": rng.choice((f"10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}", f"172.{rng.randint(16, 31)}.4.{rng.randint(1, 254)}", f"192.168.{rng.randint(0, 255)}.7")),
        "svc": svc, "ns": rng.choice(("payments", "identity", "kube-system", "shop-prod")), "pod": f"{svc}-{pick('bcdf0123456789', 9)}-{pick(letters, 5)}",
        "registry": "registry.shop.internal/shop", "uuid": uuid.UUID(int=rng.getrandbits(128), version=4), "epoch": rng.randint(1_700_000_000, 1_799_999_999),
        "mac": ":".join(pick("0123456789abcdef", 2) for _ in range(14)), "acct": pick("123456789", 12), "alnum6": pick("abcdefXYZ123456", 6),
        "b64_43": pick("ABCDEFGHIJKLMNabcdefghijklmn0123456789+/", 43),
    }  # fmt: skip
    values["epoch_ms"] = f"{values['epoch']}{rng.randint(0, 999):03}"
    values |= {
        f"n{size}": rng.randint(10 ** (size - 1), 10**size - 1) for size in (1, 2, 3, 4, 5, 6, 7, 10, 13, 16, 18)
    }
    values |= {f"hex{size}": pick("0123456789abcdef", size) for size in (5, 7, 8, 10, 12, 16, 32, 40, 64)}
    return values
