"""Secrets that a structure around them gives away: key blocks, cookies, Kubernetes Secrets, SQL, command lines."""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Iterator

from bot.redaction import values
from bot.redaction.assignments import accepts, read_value
from bot.redaction.rules import Hit, Rule, Search, Text, compile_, hit_of, matching, words

# --- key blocks ---------------------------------------------------------------------------------------------

_BEGIN = re.compile(r"-{3,6} ?BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|SECRET KEY)[A-Z0-9 ]{0,20} ?-{3,6}")
_END = re.compile(r"-{3,6} ?END [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|SECRET KEY)[A-Z0-9 ]{0,20} ?-{3,6}")
_BODY = re.compile(
    r"(?:\\+[nrt]|[\s>\"',|+\\])*(?:(?:Proc-Type|DEK-Info|Comment|Version|Hash)[^\n]{0,100}|[A-Za-z0-9+/=]{16,}"
    r"|[A-Za-z0-9+/]{1,15}={0,2}(?=\s*(?:$|[\"'`\\]|\n)))"
)
_TAIL = re.compile(r"[A-Za-z0-9+/=\s>\"'\\|,]{16,20000}\Z")
_PUTTY = re.compile(r"Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]{4,}\s*)+)(?:Private-MAC: ?\w+)?")


def find_key_blocks(text: Text) -> Iterator[Hit]:
    """Private keys, also cut off at either end, indented, quoted or with escaped line ends."""
    source, done = text.text, 0
    ends = [end.span() for end in _END.finditer(source)]
    begins = [begin.span() for begin in _BEGIN.finditer(source)]
    for number, (start, position) in enumerate(begins):
        if start < done:
            continue
        following = begins[number + 1][0] if number + 1 < len(begins) else len(source)
        end = next((end for at, end in ends[bisect_left(ends, (position, 0)) :] if at < following), None)
        if end is not None:
            done = end
        else:  # cut: as far as it goes on like a key
            done = position
            while (line := _BODY.match(source, done)) and line.end() > done:
                done = line.end()
        yield Hit(start, done, "private-key")
    if (tail := _END.search(source)) and not _BEGIN.search(source, max(0, tail.start() - 40_000), tail.start()):
        before = source[max(0, tail.start() - 8000) : tail.start()]
        start = tail.start()
        for piece in reversed(re.split(r"(?<=\n)|(?<=\\n)", before)):
            bare = re.sub(r"\\n|[\s>\"'|+,\\]", "", piece)
            if bare and not re.fullmatch(r"[A-Za-z0-9+/=]+", bare):
                break
            start -= len(piece)
        yield Hit(start, tail.end(), "private-key")
    for found in _PUTTY.finditer(source):
        yield Hit(found.start(1), found.end(), "private-key")


# --- cookies ------------------------------------------------------------------------------------------------

_COOKIE = compile_(
    r"(?i)(?:\b(?:set-)?cookie2?[\"'`]?\s*(?::|=)\s*|document\.cookie\s*=\s*|--cookie[ =]|\s-b )[\"']?([^\n\"'`]{4,})"
)
_PAIR = re.compile(r"([\w.\-%]{1,80})=(\"?)([^;\s\"]{1,4096})")
_HARMLESS_COOKIE = words(
    """
    path domain expires max-age samesite secure httponly priority partitioned theme lang locale language currency
    consent cookie_consent tz timezone version country region dark path version
    """
)


def find_cookies(text: Text) -> Iterator[Hit]:
    """Values of cookies that are a session or long enough to be one."""
    for line in _COOKIE.finditer(text.text):
        for pair in _PAIR.finditer(text.text, *line.span(1)):
            name, value = pair[1].lower(), pair[3]
            telling = re.search(r"sess|sid|auth|token|csrf|xsrf|jwt|login|remember|user|id$|key|secret", name)
            if name in _HARMLESS_COOKIE or values.is_placeholder(value) or values.is_status(value):
                continue
            if (len(value) >= 12 and (telling or values.is_random(value, 16)) and not values.is_name(value)) or (
                telling and values.is_random(value, 8)
            ):
                yield Hit(pair.start(3), pair.end(3), "session")


# --- Kubernetes and registries ------------------------------------------------------------------------------

_DATA = re.compile(r"^([ \t>]*)(?:string)?[dD]ata:[ \t]*$", re.M)
_DATA_LINE = re.compile(r"([ \t>]*)([\w.\-]+):[ \t]*([\"']?)([^\s\"']{2,})\3[ \t]*$")
_JSON_DATA = re.compile(r"\\?\"(?:string)?[dD]ata\\?\"\s*:\s*\{([^{}]{2,20000})\}")
_JSON_PAIR = re.compile(r"\\?\"[\w.\-]+\\?\"\s*:\s*\\?\"([^\"\\]{2,8000})\\?\"")


def find_kubernetes(text: Text) -> Iterator[Hit]:
    """Every value under `data:` and `stringData:` of a Secret: base64 is no protection."""
    source = text.text
    if not re.search(r"kind\\?[\"']?\s*:\s*\\?[\"']?(?:Sealed)?Secret\b", source):
        return
    for head in _DATA.finditer(source):
        position = head.end() + 1
        while position < len(source):
            end = source.find("\n", position)
            end = len(source) if end < 0 else end
            line = _DATA_LINE.match(source, position, end)
            if source[position:end].strip() and (not line or len(line[1]) <= len(head[1])):
                if not (line is None and len(source[position:end]) - len(source[position:end].lstrip()) > len(head[1])):
                    break
            elif line and not values.is_placeholder(line[4]):
                yield Hit(line.start(4), line.end(4), "password")
            position = end + 1
    for block in _JSON_DATA.finditer(source):
        for pair in _JSON_PAIR.finditer(source, *block.span(1)):
            if not values.is_placeholder(pair[1]):
                yield Hit(pair.start(1), pair.end(1), "password")


_BASIC = compile_(r"(?i)\bbasic[ \t]+([A-Za-z0-9+/_\-]{6,}={0,2})")
_BASE64 = compile_(r"(?:^|[^A-Za-z0-9+/])([A-Za-z0-9+/]{20,}={0,2})")
_TELLING = re.compile(
    rb"(?i)(?:pass(?:word|wd)?|secret|token|api_?key|pwd)[\"']?\s*[=:]|://[^/\s:]+:[^@\s]+@|BEGIN [A-Z ]*PRIVATE KEY"
)
_USER_PASSWORD = re.compile(rb"[\w.@+\-$]{1,80}:[\x21-\x7e]{4,}")


def decoded(value: str) -> bytes:
    """What base64 (either alphabet, padding or not) decodes to; empty if it is none."""
    try:
        return base64.b64decode(
            value.replace("-", "+").replace("_", "/").rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return b""


def find_basic(text: Text) -> Iterator[Hit]:
    """`Basic …` whose base64 holds user and password."""
    for found in _BASIC.finditer(text.text):
        if _USER_PASSWORD.fullmatch(decoded(found[1])) or (found[1].endswith("=") and values.is_random(found[1], 12)):
            yield hit_of(found, "password")


def find_encoded(text: Text) -> Iterator[Hit]:
    """Base64 of something that is itself a secret with its name."""
    for found in _BASE64.finditer(text.text):
        value = found[1]
        if len(value) <= 20_000 and _TELLING.search(decoded(value[: len(value) // 4 * 4])):
            yield hit_of(found, "password")


_REGISTRY = compile_(r"(?i)\b_?auth\\?[\"']?\s*[:=]\s*\\?[\"']?([A-Za-z0-9+/]{8,}={0,2})")


def _user_and_password(value: str) -> bool:
    return bool(_USER_PASSWORD.fullmatch(decoded(value)))


# --- SQL ----------------------------------------------------------------------------------------------------

_SQL = compile_(
    r"(?i)\b(?:identified\s+(?:with\s+[\"'`]?\w+[\"'`]?\s+)?(?:by|as)(?:\s+password)?|(?:encrypted\s+"
    r"|unencrypted\s+|with\s+|valid\s+)?password\s*=?|"
    r"old_password|set\s+password(?:\s+for\s+\S+)?\s*=|credential\s+secret\s*=|secret\s+|pgp_sym_(?:en"
    r"|de)crypt\(.{1,80}?,)\s*(?:password)?\(?\s*'((?:[^'\n]|''){3,})'"
)
_SQL_BARE = compile_(r"(?i)\bidentified\s+by\s+(?:values\s+)?[\"'`]?([^\s\"'`;,]{3,})")


def _is_sql_secret(value: str) -> bool:
    return accepts("password", value, quoted=True, loose=False) and not value.startswith("md5")


# --- command lines ------------------------------------------------------------------------------------------

_COMMANDS: tuple[tuple[str, str], ...] = (
    # which programs, how the secret follows within the same command
    (
        r"mysql(?:dump|admin|import|show|check|pump|slap|sh|binlog)?|mariadb(?:-\w+)?|mycli|mydumper|xtrabackup"
        r"|innobackupex", r"-p(?P<v>[^\s\-=][^\s]*)"),
    (r"docker|podman|buildah|nerdctl|helm|oras|crane|oc|az|cf|ibmcloud|aliyun|rancher|argocd|npm",
     r"login\b[^\n]{0,200}?[ ]-p[ =]{1,4}(?P<v>\S+)"),
    (r"skopeo|podman|buildah", r"--(?:dest-|src-)?creds[ =]{1,4}[^\s:]{1,80}:(?P<v>\S+)"),
    (r"sshpass", r"-p[ ]{0,4}(?P<v>\S+)"),
    (r"redis-cli|valkey-cli|keydb-cli|redis-benchmark", r"(?:-a|--pass)[ =]{1,4}(?P<v>\S+)"),
    (r"curl|http|https|httpie|xh|wget|ab|hey|wrk|mc",
     r"(?:-u|--user|--proxy-user|-U|-a|--auth|-A)[ =]{0,4}(?P<q>[\"']?)[^\s:\"'/]{0,80}:(?P<v>[^\s\"']+)"),
    (
        r"mongo(?:sh|dump|restore|export|import|stat|top)?|cqlsh|cbq|couchbase-cli|influx|nodetool|ipmitool|mqttx"
        r"|vncviewer", r"(?:-p|-P|-pw)[ ]{1,4}(?P<v>\S+)"),
    (r"sqlcmd|bcp|isql|osql|tsql|unzip|zip|mosquitto_(?:pub|sub|passwd)|ipmitool|ipmipower|7z[ar]?",
     r"-P[ ]{0,4}(?P<v>\S+)"),
    (r"7z[ar]?|rar|unrar", r"-h?p(?P<v>[^\s\-][^\s]*)"),
    (r"ldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn)", r"(?:-w|-s|-a)[ ]{1,4}(?P<v>\S+)"),
    (r"smbclient|rpcclient|net|winexe|crackmapexec|impacket-\w+", r"-U[ ]{0,4}[\"']?[^\s%\"']{1,80}%(?P<v>[^\s\"']+)"),
    (r"plink|pscp|psftp|pscp\.exe|plink\.exe", r"-pw[ ]{1,4}(?P<v>\S+)"),
    (r"openssl|keytool|jarsigner|gpg2?", r"(?:-passin|-passout|-pass|-password)[ ]{1,4}(?:pass:)(?P<v>\S+)"),
    (r"openssl", r"-(?:k|K)[ ]{1,4}(?P<v>\S+)"),
    (r"htpasswd", r"(?:-\w*b\w*|-\w+ -b)[ ]{1,4}\S+[ ]{1,4}\S+[ ]{1,4}(?P<v>\S+)"),
    (r"sqlplus|expdp|impdp|exp|imp|rman|sqlldr", r"[\"']?[\w$#]{1,40}/(?P<v>[^\s@/\"']{3,})@?"),
    (r"rabbitmqctl|rabbitmqadmin", r"(?:add_user|change_password|authenticate_user)[ ]{1,4}\S+[ ]{1,4}(?P<v>\S+)"),
    (r"net1?", r"use[ ]{1,4}[^\n]{0,120}/user:\S+[ ]{1,4}(?P<v>[^\s/*]\S*)"),
    (r"net1?", r"user[ ]{1,4}\S+[ ]{1,4}(?P<v>[^\s/*]\S*)"),
    (r"psexec|PsExec64|wmic|schtasks|mstsc|cmdkey|runas", r"[-/](?:p|rp|password|pass):?[ ]{0,4}(?P<v>\S+)"),
    (r"vault", r"login[ ]{1,4}(?:-\S+[ ]{1,4}){0,3}(?:token=)?(?P<v>[^\s\-=]\S*)"),
    (r"consul|nomad|etcdctl|kafkacat|kcat|pulsar-admin", r"(?:-token|--token|-http-token)[ =]{1,4}(?P<v>\S+)"),
    (r"etcdctl", r"--user[ =]{1,4}[^\s:]{1,80}:(?P<v>\S+)"),
    (r"wpa_passphrase", r"\S+[ ]{1,4}(?P<v>\S+)"),
    (r"nmcli", r"password[ ]{1,4}(?P<v>\S+)"),
    (r"security", r"-w[ ]{1,4}(?P<v>\S+)"),
    (r"rclone", r"obscure[ ]{1,4}(?P<v>\S+)"),
    (r"mc", r"(?:alias set|config host add)[ ]{1,4}\S+[ ]{1,4}\S+[ ]{1,4}\S+[ ]{1,4}(?P<v>\S+)"),
    (r"useradd|usermod", r"-p[ ]{1,4}(?P<v>\S+)"),
    (r"snmp(?:walk|get|bulkwalk|set|table)", r"(?:-c|-A|-X)[ ]{1,4}(?P<v>\S+)"),
    (r"kubectl|oc", r"--from-literal[= ]{1,4}[\"']?[\w.\-]{1,80}=(?P<v>[^\s\"']+)"),
    (r"psql|pg_dump|pg_restore", r"[\"'](?:[^\"']{0,200} )?password=(?P<v>[^\s\"']+)"),
)  # fmt: skip
_COMMAND = Search(
    ((compile_(head := rf"(?:^|[^\w.\-])(?:{programs})(?:\.exe)?[ \t]"), re.compile(secret)), head)
    for programs, secret in _COMMANDS
)
_COMMAND_END = re.compile(r"[\n;|]|&&")


def find_commands(text: Text) -> Iterator[Hit]:
    """Passwords in the arguments of programs that take them so: `mysql -p…`, `curl -u user:…`, `redis-cli -a …`."""
    source = text.text
    for program, secret in _COMMAND.open(source):
        done = 0
        for found in program.finditer(source):
            end = _COMMAND_END.search(source, found.end(), found.end() + 400)
            stop = end.start() if end else min(len(source), found.end() + 400)
            begin, done = max(found.end() - 1, done), stop
            for argument in secret.finditer(source, begin, stop):
                if not source[argument.start() - 1].isspace() and argument.start() != found.end() - 1:
                    continue
                start = argument.start("v")
                if source[start] in "\"'":
                    value = read_value(source, start)
                    if value and _is_argument_secret(value.text):
                        yield Hit(value.start, value.end, "password")
                elif _is_argument_secret(word := argument["v"].rstrip("\"'`,;)")):
                    yield Hit(start, start + len(word), "password")


def find_piped(text: Text) -> Iterator[Hit]:
    """`echo … | docker login --password-stdin`."""
    source = text.text
    for found in _PIPED.finditer(source):
        value = found[1].strip("\"'")
        start = found.start(1) + found[1].index(value)
        colon = value.find(":") if found[2] == "chpasswd" else -1
        if not values.is_placeholder(value) and len(value) >= 4:
            yield Hit(start + colon + 1, start + len(value), "password")


_PIPED = compile_(
    r"\b(?:echo|printf)\s+(?:-\w+\s+)?([^\s|][^|\n]{2,}?)\s*\|\s*(?:sudo\s+(?:-\w+\s+)*)?"
    r"(?:\S+\s+login\b[^\n|]*--password-stdin|(passwd|chpasswd)\b|sudo -S|cryptsetup|base64\s+(?:-d|-D|--decode))"
)


def _is_argument_secret(value: str) -> bool:
    if values.is_placeholder(value) or value[0] in "-{[" or len(value) < 3 or values.is_place(value):
        return False
    if value.isdigit():
        return len(value) >= 6
    return (
        not re.fullmatch(r"\d+(?:[:.\-/]\d+)+(?:/\w+)?", value)
        and not values.is_status(value)
        and not values.is_reference(value)
    )


# --- files of passwords -------------------------------------------------------------------------------------

_NETRC = compile_(r"(?i)\b(?:machine|login|account)\s+\S+\s+(?:login\s+\S+\s+)?password\s+(\S{3,})")
_PGPASS = compile_(r"(?m)(?:^|\s)[\w.*\-]+:(?:\d{2,5}|\*):[\w*\-]+:[\w*\-]+:([^\s:]{3,})$")
_CONF = compile_(
    r"(?im)(?:^|[\s`])(?:requirepass|masterauth|sentinel auth-pass \S+|auth-pass \S+|rootpw|bindpw|secret_key_base"
    r"|ENV\s+\w*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY)\w*|"
                 r"snmp-server community|enable secret(?: \d)?|username \S+ (?:privilege \d+ )?(?:password"
                 r"|secret)(?: \d)? |key-string(?: \d)?|(?:SET)?USER \S+ on (?:\S+ "
                 r"){0,6}?>)\s*[\"']?([^\s\"'\]]{4,})")  # fmt: skip
_SET = compile_(
    r"(?i)\b(?:set|config|setex|export|setx|put|write|shared_secret|SET)\s+(?:[\w./:\-]*[/_.:\-])?(?:password"
    r"|passwd|pwd|passphrase|secret(?:_access)?_?key|secret|"
    r"_authtoken|token|api_?key|requirepass|masterauth)\s+[\"']?([^\s\"'=]{4,})"
)
_ARGUMENT = compile_(
    r"(?i)(?:^|\s)--?(?:value|secret-?string|body|data|secret-?value|content|literal|plaintext|string-?value)[ "
    r"=]+[\"']?([^\s\"']{4,})"
)
_CALLED = compile_(
    r"(?i)\b(?:auth|login|log_in|signin|authenticate|connect|credentials?|(?:http)?basic_?auth"
    r"|set_?(?:basic_?)?auth|set_?credentials|create_?user|add_?user|usernamepassword\w*)\(\s*(?:\w+\s*=\s*)?"
    r"[\"'][^\"'\n]{1,80}[\"']\s*,\s*(?:\w+\s*=\s*)?[\"']([^\"'\n]{4,200})[\"']"
)
_PROTOCOL = compile_(
    r"(?:^|[\s>\"'`])(?:AUTH(?: default| [a-z]\w{0,20})?|LOGIN \S{1,80}|PASS|IDENTIFY(?: \w{1,30})?|AUTH (?:PLAIN"
    r"|LOGIN)|auth) +[\"']?([^\s\"'`]{5,})"
)
_DIGEST = compile_(r"(?i)\b(?:response|cnonce_response|v1|v0|mac|digest_response)=\"?([0-9a-f]{32,64})\b")
_PATH_TOKEN = compile_(
    r"(?i)/(?:hooks?|webhooks?(?:/catch)?|integrations?|tokens?|login|reset|invites?|invitations?|magic|verify"
    r"|confirm|unsubscribe|activate|"
    r"password|share)/([A-Za-z0-9_\-]{20,})(?:[/?\s\"'`<>)|]|$)"
)
_UNSEAL = compile_(r"(?i)\bunseal key(?: \d+)?(?: is)?\s*[:=]?\s*([A-Za-z0-9+/=]{40,})")
_TOTP = compile_(
    r"(?i)\b(?:totp|otp|2fa|mfa|authenticator|otpauth)\b[^\n]{0,40}?(?:seed|secret|key"
    r"|=)[^\nA-Z2-7]{0,12}([A-Z2-7]{16,64})\b"
)
_STRIKING_WORD = compile_(r"(?:^|[\s=:,;\"'`(\[{>|])([A-Za-z0-9_+/\-]{20,200}={0,2})(?:[\s,;\"'`)\]}<|.]|$)")
_HINT = compile_(
    r"(?i)secret|token|api[_ -]?key|\bkeys?\b|passw|\bauth\b|credential|\bcreds?\b|\bpsk\b|unseal|bearer"
    r"|licen[cs]e|\bpat\b|sign(?:ing|ature)|otp|login|\bpass\b|\bpw\b|access"
)
_HARMLESS_BEFORE = compile_(
    r"(?i)(?:(?:next|page|continuation)[_-]?token|websocket-(?:key|accept)|sha-?\d{1,3}[:\-=]?|md5[:=]?|fingerprint:?|integrity|etag|digest|checksum|revision|commit|version"
    r"|(?:request|trace|span|cluster|amz|node|session|client|group|member|correlation)[_-]?id(?:-2)?|cursor|next"
    r"|page|rsa|ed25519|nistp\d+|hash|content-md5)[\"' :=]*\z"
)


def find_striking(text: Text) -> Iterator[Hit]:
    """Long words in disorder on a line that speaks of a secret: what is left when no syntax is known."""
    source = text.text
    for found in _STRIKING_WORD.finditer(source):
        start, end = found.span(1)
        if (
            not values.is_striking(found[1])
            or found[1].startswith(("AAAA", "sha1", "sha2", "sha3", "sha5"))
            or _HARMLESS_BEFORE.search(source[max(0, start - 30) : start])
        ):
            continue
        line = max(source.rfind("\n", 0, start) + 1, start - 80)
        before = source[line:start]
        if _HINT.search(before) and "arn:" not in before.rsplit(" ", 1)[-1]:
            yield Hit(start, end, "token")


def _is_protocol_secret(value: str) -> bool:
    if values.is_name(value) or values.is_placeholder(value) or values.is_status(value):
        return False
    if values.is_reference(value) or values.is_word_in_case(value):
        return False
    return values.is_random(value, 12) or values.is_password_like(value) or decoded(value)[:1] == b"\x00"


def _is_conf_secret(value: str) -> bool:
    return (
        accepts("password", value.rstrip("\"'`,;"), quoted=False, loose=False) and not values.is_name(value)
    ) or values.is_word_with_digits(value)


RULES: tuple[Rule, ...] = (
    Rule(
        "pem",
        "keys are pasted whole, cut off, indented or with escaped line ends",
        "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END " + "PRIVATE KEY-----",
        find_key_blocks,
        ("private key", "secret key", "private-lines"),
    ),
    Rule(
        "cookie",
        "a session cookie is a login",
        "Cookie: sid=4f9a8b7c6d5e4f3a2b1c; theme=dark",
        find_cookies,
        ("cookie", " -b "),
    ),
    Rule(
        "kubernetes-secret",
        "base64 is no protection",
        "kind: Secret\ndata:\n  pin: cGFzc3dk",
        find_kubernetes,
        ("secret",),
    ),
    Rule("basic", "Basic is base64 of user and password", "Basic YXBwOkNvcnJlY3QtSG9yc2U=", find_basic, ("basic",)),
    Rule("base64", "encoded configuration still holds its password", "cGFzc3dvcmQ9Q29ycmVjdC1Ib3JzZS05", find_encoded),
    Rule(
        "registry-auth",
        "docker's config.json holds user and password in base64",
        '{"auth": "YXBwOkNvcnJlY3QtSG9yc2U="}',
        matching(_REGISTRY, "password", accept=_user_and_password),
        ("auth",),
    ),
    Rule(
        "sql",
        "ALTER USER is typed in the heat",
        "ALTER USER app IDENTIFIED BY 'Correct-Horse-9'",
        matching(_SQL, "password", accept=_is_sql_secret),
        ("identified", "password", "secret"),
    ),
    Rule(
        "sql-bare",
        "Oracle takes it without quotes",
        "ALTER USER app IDENTIFIED BY Correct_Horse9",
        matching(_SQL_BARE, "password", accept=lambda v: accepts("password", v, quoted=False, loose=True)),
        ("identified",),
    ),
    Rule(
        "command", "programs that take a password as an argument", "mysql -uroot -pCorrect-Horse-9 shop", find_commands
    ),
    Rule(
        "piped",
        "a password that is echoed into a program",
        "echo Correct-Horse-9 | docker login -u ci --password-stdin",
        find_piped,
        ("echo ", "printf "),
    ),
    Rule(
        "netrc",
        "curl's and git's password file",
        "machine git.internal login ci password Correct-Horse-9",
        matching(_NETRC, "password", accept=lambda v: not values.is_placeholder(v) and not values.is_status(v)),
        ("password",),
    ),
    Rule(
        "pgpass",
        "libpq's password file",
        "db-1:5432:orders:app:Correct-Horse-9",
        matching(_PGPASS, "password", accept=lambda v: not values.is_placeholder(v) and values.is_password_like(v)),
    ),
    Rule(
        "directive",
        "configuration with a space between",
        "requirepass Correct-Horse-9",
        matching(_CONF, "password", accept=_is_conf_secret),
        ("pass", "auth", "rootpw", "bindpw", "secret", "env ", "community", "key-string", "user "),
    ),
    Rule(
        "argument",
        "secret stores take the value as an argument",
        "aws ssm put-parameter --name /db/password --value Correct-Horse-9",
        matching(_ARGUMENT, "password", accept=lambda v: accepts("secret", v, quoted=False, loose=False)),
        ("secret", "securestring", "password"),
    ),
    Rule(
        "call",
        "a login in code: user and password are two strings",
        'db.auth("app", "Correct-Horse-9")',
        matching(
            _CALLED,
            "password",
            accept=lambda v: values.is_password_like(v) or (values.is_random(v, 8) and not values.is_name(v)),
        ),
        words("auth login log_in signin connect credential user"),
    ),
    Rule(
        "protocol",
        "old protocols say the password in a line of its own",
        "AUTH default Correct-Horse-9",
        matching(_PROTOCOL, "password", accept=_is_protocol_secret),
        ("auth ", "login ", "pass ", "identify "),
    ),
    Rule(
        "digest-response",
        "what answers a challenge can be replayed or broken",
        'Digest response="' + "0a" * 16 + '"',
        matching(_DIGEST, "signature"),
        ("digest", "signature", "hmac"),
    ),
    Rule(
        "path-token",
        "links that log in carry the token in the path",
        "https://shop.example/reset/4f9aB8c7D6e5F4a3B2c1",
        matching(_PATH_TOKEN, "token", accept=lambda v: values.is_striking(v) or values.is_hex(v)),
        words(
            "/hook /webhook /integration /token /login /reset /invit /magic /verify /confirm /unsubscribe /activate "
            "/password /share"
        ),
    ),
    Rule(
        "unseal-key",
        "whoever has enough of them opens the vault",
        "Unseal Key 1: " + "Ab0+" * 11,
        matching(_UNSEAL, "key"),
        ("unseal",),
    ),
    Rule(
        "totp",
        "the seed makes every later code",
        "TOTP seed " + "JBSWY3DPEHPK3PXP",
        matching(_TOTP, "key", accept=lambda v: not v.isalpha() or len(v) >= 26),
        ("otp", "2fa", "mfa", "authenticator"),
    ),
    Rule(
        "striking",
        "what is left when no syntax is known",
        "the secret of that app: here it comes 4f9aB8c7D6e5F4a3B2c1Z",
        find_striking,
        words("secret token key passw auth cred psk unseal bearer licen pat sign otp login pass pw access"),
    ),
    Rule(
        "set",
        "`set key value` of many command lines",
        "aws configure set aws_secret_access_key Correct0Horse9Battery",
        matching(_SET, "password", accept=lambda v: accepts("secret", v, quoted=False, loose=False)),
        ("set", "config", "export", "put", "write"),
    ),
)
