"""Personal data: mail addresses, phones, cards, accounts, identity numbers, clients' addresses, positions, names."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from bot.redaction.rules import Hit, Rule, Text, compile_, hit_of, matching, words

# --- mail ---------------------------------------------------------------------------------------------------

_EMAIL = compile_(
    r"(?i)([a-z0-9_][a-z0-9._%+'\-]{0,63}|\"[^\"\n@]{1,60}\")(@|%40|\\u0040| ?[\[(]at[\])] "
    r"?)((?:[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?(?:\.| ?[\[(]dot[\])] ?))+[a-z]{2,24})"
)
_NO_DOMAIN = words(
    """
    internal local localhost localdomain lan corp intra intranet home svc cluster private consul invalid onion
    arpa node service socket timer target mount slice scope device path swap automount yaml yml json xml toml ini
    conf cfg md txt log csv tgz gz zip tar jar war js ts tsx jsx mjs css html htm go java kt rb php exe dll deb
    rpm whl lock sql bak pem crt key png jpg svg pdf class object
    """
)
_ROLE = words(
    """
    noreply no-reply donotreply do-not-reply postmaster mailer-daemon mailerdaemon hostmaster webmaster abuse
    security oncall on-call sre ops devops alerts alert alertmanager pagerduty root git hg svn www-data nobody
    """
)
_EXAMPLE = re.compile(
    r"(?:(?:your|my|first|last|full|user|some|any|example|sample|test|dummy)?[._\-]?(?:name|user|username|email"
    r"|mail|firstname|lastname|surname|someone|somebody|example|address|recipient|sender)[._\-]?){1,3}"
)
_NO_PERSON = re.compile(
    r"(?i)(?:\.iam\.gserviceaccount\.com|\.gserviceaccount\.com|\bnoreply\.github\.com|\.compute\.internal"
    r"|\.amazonses\.com)$"
)
_REMOTE = re.compile(
    r"(?i)(?:\b(?:ssh|scp|rsync|sftp|mosh|sshfs|ssh-copy-id|autossh|kinit)\b[^\n]{0,120}|ssh://|git\+ssh://"
    r"|\b(?:connect(?:ed|ing)? to|login to) )\Z"
)


def _is_remote(before: str) -> bool:
    lowered = before.lower()
    return any(
        word in lowered for word in ("ssh", "scp", "rsync", "sftp", "mosh", "kinit", "connect", "login to")
    ) and bool(_REMOTE.search(before))


def find_emails(text: Text) -> Iterator[Hit]:
    """Addresses of people; not git remotes, ssh targets, systemd units, packages, service accounts or roles."""
    source = text.text
    for found in _EMAIL.finditer(source):
        local, domain = found[1].lower(), found[3].lower()
        tail = source[found.end() : found.end() + 2]
        top = domain.rsplit(".", 1)[-1]
        if (
            _EXAMPLE.fullmatch(local)
            or top in _NO_DOMAIN
            or local in _ROLE
            or _NO_PERSON.search(domain)
            or re.fullmatch(r"\d+", local)
        ):
            continue
        if (tail[:1] == ":" and tail[1:2] not in ("", " ", "\n", '"', "<")) or _is_remote(
            source[max(0, found.start() - 140) : found.start()]
        ):
            continue
        if source[max(0, found.start() - 1) : found.start()] in ("/", "@") or (tail[:1] in "(" and tail):
            continue
        yield Hit(found.start(), found.end(), "email")


# --- phones -------------------------------------------------------------------------------------------------

_INTERNATIONAL = compile_(r"(?:^|[^\w.+\-/])((?:\+|00 ?)[1-9](?:[ .\-/]?\(?\d\)?){6,14})(?:[^\w]|$)")
_AMERICAN = compile_(
    r"(?:^|[^\w.+\-/(])(\([2-9]\d{2}\) ?[2-9]\d{2}[ .\-]\d{4}|(?:1[ .\-]?)?"
    r"[2-9]\d{2}(?:-[2-9]\d{2}-|\.[2-9]\d{2}\.)\d{4})"
    r"(?:[^\w.\-]|[.](?:\s|$)|$)"
)
_SPOKEN = compile_(
    r"(?i)(?:\b(?:phone|telephone|tel|mobile|mob|cell|cellphone|handy|telefon|fax|msisdn|sms|whatsapp"
    r"|caller(?:[_ ]?id)?|callback|hotline)(?:[_ -]?(?:number|no|nr|num))?\b[^\n\d+]{0,24}"
    r"|\b(?:call(?:ed|ing)?|dial(?:led)?|ring|reach|text(?:ed)?|contact|signal)"
    r"(?: (?:me|us|him|her|them|back|now|again|at|on|from|number|no|the [a-z]+|[a-z]+ at))*[:. ]{1,3}|tel:)"
    r"(\+?\(?\d(?:[ .\-/]?\(?\d\)?){6,14})\b"
)


def find_phones(text: Text) -> Iterator[Hit]:
    """Phone numbers: international ones anywhere, national ones in their usual form or after a word that says so."""
    source = text.text
    for found in _INTERNATIONAL.finditer(source):
        if _is_phone(found[1].replace("00", "+", 1) if found[1].startswith("00") else found[1]):
            yield hit_of(found, "phone")
    for found in _AMERICAN.finditer(source):
        yield hit_of(found, "phone")
    for found in _SPOKEN.finditer(source):
        if _is_spoken_number(found[1]):
            yield hit_of(found, "phone")


def _is_spoken_number(number: str) -> bool:
    """Whether digits after a word like "call" are a number to call: not a date, an address or a counter."""
    digits = re.sub(r"\D", "", number)
    if not 7 <= len(digits) <= 15 or re.fullmatch(
        r"\d{1,3}(?:\.\d{1,3}){3}|\d{4}-\d\d-\d\d.*|(?:19|20)\d\d-\d{3,7}", number
    ):
        return False
    return digits[0] == "0" or number[0] in "+(" or len(digits) in (10, 11) or bool(re.search(r"\d[ .\-/(]+\d", number))


def _is_phone(number: str) -> bool:
    import phonenumbers  # heavy, and most texts have no number

    if re.search(r"\.\d\Z", number):
        return False  # a decimal
    try:
        parsed = phonenumbers.parse(number, None)
    except phonenumbers.NumberParseException:
        return False
    separated = bool(re.search(r"\d[ .\-/()]+\d", number))
    return bool(phonenumbers.is_valid_number(parsed) or (separated and phonenumbers.is_possible_number(parsed)))


# --- cards, accounts, identity numbers -----------------------------------------------------------------------

_CARD = compile_(
    r"(?:^|[^\w.\-])((?:[2-6]\d{3}(?:[ \-]?\d{4}){2}[ \-]?\d{1,7})|3[47]\d{2}[ \-]?\d{6}[ \-]?\d{5}|3[47]\d{2}[ "
    r"\-]\d{4}[ \-]\d{4}[ \-]\d{3})(?:[^\w\-]|$)"
)
_CARD_WORDS = re.compile(
    r"(?i)card|\bpan\b|visa|master|amex|credit|debit|payment|charge|cc[_ ]?(?:num|no)|declin|gateway|pan[=:_\"' ]"
)


def luhn(digits: str) -> bool:
    """The check digit of card numbers (ISO/IEC 7812)."""
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if index % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def find_cards(text: Text) -> Iterator[Hit]:
    """Card numbers with a right check digit: written in groups, or with a word beside them that means a card."""
    source = text.text
    for found in _CARD.finditer(source):
        digits = re.sub(r"\D", "", found[1])
        if not 13 <= len(digits) <= 19 or not luhn(digits):
            continue
        around = source[max(0, found.start(1) - 50) : found.start(1)] + source[found.end(1) : found.end(1) + 30]
        if found[1] != digits or _CARD_WORDS.search(around):
            yield hit_of(found, "card")


_IBAN = compile_(r"\b([A-Z]{2}\d{2}(?:[ \-]?[A-Z0-9]{4}){2,7}(?:[ \-]?[A-Z0-9]{1,4})?)\b")
_IBAN_LENGTHS = {
    line[:2]: int(line[2:])
    for line in words(
        """
    AD24 AE23 AT20 BE16 BG22 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GI23 GR27 HR21 HU28 IE22 IL23 IS26
    IT27 LI21 LT20 LU20 LV21 MC27 MT31 NL18 NO15 PL28 PT25 RO24 RS22 SA24 SE24 SI19 SK24 SM27 TR26 UA29 BR29 QA29
    KW30
    """
    )
}


def find_ibans(text: Text) -> Iterator[Hit]:
    """Account numbers (ISO 13616): the country's length, and the check digits or a word that says so."""
    source = text.text
    for found in _IBAN.finditer(source):
        plain, end = re.sub(r"[ \-]", "", found[1]), found.end(1)
        wanted = _IBAN_LENGTHS.get(plain[:2], 0)
        if not wanted or len(plain) < wanted:
            continue
        while len(re.sub(r"[ \-]", "", source[found.start(1) : end])) > wanted:
            end -= 1
        plain = plain[:wanted]
        number = "".join(str(int(c, 36)) for c in plain[4:] + plain[:4])
        before = source[max(0, found.start(1) - 40) : found.start(1)]
        if int(number) % 97 == 1 or re.search(r"(?i)iban|sepa|account|payout|transfer|konto|bank", before):
            yield Hit(found.start(1), end, "bank-account")


_SSN = compile_(
    r"(?i)\b(?:ssn|social[ _-]security(?:[ _-](?:number|no))?|itin|tax[ _-]?id|taxpayer[ "
    r"_-]id)\b[^\n\d]{0,20}(\d{3}[- ]?\d{2}[- ]?\d{4})\b"
)
_BARE_SSN = compile_(
    r"(?:^|[\s:=\"'(,])((?:00[1-9]|0[1-9]\d|[1-578]\d{2}|6[0-57-9]\d|66[0-57-9])-(?:0[1-9]|[1-9]\d)-(?:000[1-9]"
    r"|00[1-9]\d|0[1-9]\d{2}|[1-9]\d{3}))(?:[\s\"'),;.]|$)"
)
_ID = compile_(
    r"(?i)\b(?:passport(?:[ _-]?(?:number|no|nr))?|national[ _-]?(?:id|insurance)(?:[ _-]?(?:number|no))?|nino"
    r"|nhs(?:[ _-]?(?:number|no))?|driver'?s?[ _-]?licen[cs]e(?:[ _-]?(?:number|no))?|dni|nif|nie|cpf|cnpj|"
    r"aadhaar|pan[ _-]?card|personal(?:ausweis|nummer|[ _-]?(?:number|code))|steuer-?id(?:entifikationsnummer)?"
    r"|codice fiscale|bsn|pesel|sin|tfn|curp|hkid|nric|sozialversicherungsnummer|insee|numéro de sécurité sociale"
    r"|rodné číslo|fødselsnummer|personnummer)\b"
    r"[\"'`*]*[ \t]*(?:is|was|[:=#]|no\.?)?[ \t]*[\"'`*]*([A-Z0-9](?:[ .\-/]?[A-Z0-9]){5,19})\b"
)


def find_identity(text: Text) -> Iterator[Hit]:
    """Numbers of national identity: in the American form, or after the word for one."""
    source = text.text
    for found in _SSN.finditer(source):
        yield hit_of(found, "national-id")
    if text.has(
        ("ssn", "social", "kyc", "identity", "taxpayer", "itin", "applicant", "customer", "patient", "employee", "dob")
    ):
        for found in _BARE_SSN.finditer(source):
            yield hit_of(found, "national-id")
    for found in _ID.finditer(source):
        if sum(c.isdigit() for c in found[1]) >= 4:
            match = re.match(r"[A-Z0-9.\-/]+(?: [A-Z0-9]*\d[A-Z0-9]*)*(?: [A-Z]\b)?", found[1])
            if match and sum(c.isdigit() for c in match[0]) >= 4:
                yield Hit(found.start(1), found.start(1) + match.end(), "national-id")


# --- addresses of clients ------------------------------------------------------------------------------------

_CLIENT = compile_(
    r"(?i)(?:\b(?:client|customer|visitor|user|guest|subscriber|shopper|buyer|end[ _-]?user|remote|caller|attacker"
    r"|source|src|origin(?:ating)?|true[_-]client|cf[_-]connecting|x[_-]real|real|x[_-]client"
    r"|x[_-]cluster[_-]client|fastly[_-]client)[ _.-]?"
    r"(?:ip(?:[ _-]?addr(?:ess)?)?|addr(?:ess)?)|x[_-]forwarded[_-]for|forwarded(?:[: ].{0,40})?\bfor|xff"
    r"|remote_host|client|clientip|remoteip|ipaddress|ip_address|ip address|visitor|(?:ip|address) of (?:the |a "
    r"|our )?(?:client|customer|user|visitor|caller|buyer)|(?:blocked|banned|offending|suspicious|abusive|their"
    r"|his|her) ip|"
    r"(?:log(?:ged)?[ -]?in|sign(?:ed)?[ -]?in|request|session|purchase|order|click)s? from(?: ip)?|customer(?: "
    r"\w+)? (?:at|from))\b(?:[\"'`\])]*)(?:[ \t]*(?:=>|->|[:=]|is|was|address|addr|ip)?[ "
    r"\t\"'`\[(<:]*)([0-9a-fA-F:.]{7,45}(?:[, ]+[0-9a-fA-F:.]{7,45}){0,5})"
)
_OF_CLIENT = compile_(
    r"(?i)\bip(?: address)? ([0-9a-f:.]{7,45}) (?:of|from|belonging to) "
    r"(?:the |a |our )?(?:client|customer|user|visitor|caller)"
)
_ACCESS_LOG = compile_(r"(?m)^[\"'`> ]*([0-9a-fA-F:.]{7,45}) - (?:-|\S{1,40}) \[")
_IP = re.compile(r"[0-9a-fA-F:.]{7,45}")


def find_addresses(text: Text) -> Iterator[Hit]:
    """Public IP addresses after a word that means a client, and at the head of access log lines."""
    for pattern in (_CLIENT, _OF_CLIENT, _ACCESS_LOG):
        for found in pattern.finditer(text.text):
            for address in _IP.finditer(text.text, *found.span(1)):
                end = address.end()
                while text.text[end - 1] in ".:" and end > address.start() + 1:
                    end -= 1
                word = text.text[address.start() : end]
                if word.count(":") == 1:
                    end = address.start() + word.index(":")
                if _is_public(text.text[address.start() : end]):
                    yield Hit(address.start(), end, "ip")


def _is_public(word: str) -> bool:
    try:
        address = ipaddress.ip_address(word)
    except ValueError:
        return False
    documentation = word.startswith(("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"))
    return address.is_global or documentation


# --- off unless asked for ------------------------------------------------------------------------------------

_POSITION = compile_(
    r"(?i)\b(?:lat(?:itude)?|lon(?:gitude)?|lng|long)[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(-?\d{1,3}\.\d{3,})"
)
_COORDINATES = compile_(r"(?:^|[^\d.])(-?[1-8]?\d\.\d{4,},[ ]?-?1?\d{1,2}\.\d{4,})(?:[^\d.]|$)")
_NAMED = compile_(
    r"(?:\b(?i:(?:customer|user|client|patient|employee|account|card|first|last|full|display|contact|recipient"
    r"|sender|requester|buyer)?[ _]?(?:holder)?[ _]?name|user|customer|requested by|reported by|"
    r"raised by|opened by|assignee|reporter|requester|contact|approved by))\b[\"'`]?\s{0,2}[:=][ "
    r"\t]{0,3}[\"'`]?(\p{Lu}[\p{L}'’\-]+(?: \p{Lu}[\p{L}'’.\-]*){1,3})"
)

_ID_WORDS = words(
    """
    ssn social kyc tax customer patient employee applicant identity itin dob passport national nino nhs driver dni
    nif nie cpf cnpj aadhaar pan personal steuer codice bsn pesel sin tfn curp hkid nric sozial insee sécurité
    rodné fødsels
    """
)
_positions = (matching(_POSITION, "position"), matching(_COORDINATES, "position"))
_BIRTH = compile_(
    r"(?i)\b(?:dob|d\.o\.b\.?|date[ _-]of[ _-]birth|birth[ _-]?da(?:te|y)|born(?: on)?|geburtsdatum|geboren(?: "
    r"am)?)\b[\"'`*]*[ \t]*(?:is|was|[:=])?[ \t]*[\"'`]?(\d{4}-\d\d-\d\d|\d{1,2}[./\- ]\d{1,2}[./\- ]\d{2,4}"
    r"|\d{1,2}\.? \p{L}{3,9}\.? \d{4}|\p{L}{3,9} \d{1,2},? \d{4})"
)
_ACCOUNT = compile_(
    r"(?i)\b(?:(?:bank )?account[ _-]?(?:number|no|num|nr)|kontonummer|routing[ _-]?(?:number|no)|aba|sort[ "
    r"_-]?code|bsb|ifsc)\b[\"'`*.]*[ \t]*(?:is|was|[:=#])?[ \t]*[\"'`]?(\d{2}-\d{2}-\d{2}|\d{3}-\d{3}"
    r"|[A-Z]{4}0[A-Z0-9]{6}|\d[\d \-]{4,18}\d)(?:[,;/ ]{1,3}(?:account|acct?|a/c)(?:[ _](?:number|no))?[ "
    r":=]{1,3}(\d{6,12}))?"
)


def find_accounts(text: Text) -> Iterator[Hit]:
    """Account numbers and sort codes after their name."""
    for found in _ACCOUNT.finditer(text.text):
        for group in (1, 2):
            if found.start(group) >= 0:
                yield hit_of(found, "bank-account", group)


RULES: tuple[Rule, ...] = (
    Rule(
        "birth-date",
        "with a name it is who one is",
        "dob=1984-03-12",
        matching(_BIRTH, "birth-date"),
        ("dob", "birth", "born", "gebor", "d.o.b"),
    ),
    Rule(
        "account-number",
        "accounts before IBAN",
        "sort code 20-00-00 account 55779911",
        find_accounts,
        ("account", "konto", "routing", "aba", "sort", "bsb", "ifsc"),
    ),
    Rule(
        "email",
        "customers are in bounces, tickets and unsubscribe links",
        "delivery to jane.roe@example.com failed",
        find_emails,
        ("@", "%40", "[at]", "(at)", "u0040"),
    ),
    Rule("phone", "on-call and customers' numbers", "call +44 20 7946 0018", find_phones),
    Rule("card", "card numbers in declined charges", "card 4242 4242 4242 4242", find_cards),
    Rule("iban", "accounts in failed payouts", "iban=DE89370400440532013000", find_ibans),
    Rule("national-id", "identity numbers in debug logs", "ssn=078-05-1120", find_identity, _ID_WORDS),
    Rule(
        "client-ip",
        "a client's address is personal; a server's is what one needs to know",
        "client_ip=198.51.100.7",
        find_addresses,
    ),
    Rule(
        "position",
        "where somebody is",
        "lat=52.520365 lon=13.404194",
        lambda text: (hit for find in _positions for hit in find(text)),
    ),
    Rule("name", "a person's name after a label", "Requested by: Jane Roe", matching(_NAMED, "name")),
)
