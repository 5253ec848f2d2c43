"""The token formats of vendors: public facts (prefix, alphabet, length), written as one table of our own.

Each line: name, kind, the literal words without which it can't be there, pattern. A pattern is bounded by anything but
a letter or digit on its left; open repeats on its right take the whole token, should a vendor make it longer.
"""

# ruff: noqa: E501 (a table)

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bot.redaction.rules import compile_
from bot.redaction.values import is_hex, is_striking

A = "[A-Za-z0-9]"
W = r"[A-Za-z0-9_\-]"
B = r"[A-Za-z0-9+/]"
H = "[0-9a-f]"

_TABLE: tuple[tuple[str, str, str, str], ...] = (
    # clouds
    ("aws-access-key-id", "key", "AKIA ASIA ABIA ACCA A3T", r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("aws-bedrock", "key", "ABSK bedrock-api-key-", rf"ABSK{B}{{60,}}={{0,2}}|bedrock-api-key-{B}{{40,}}={{0,2}}"),
    ("aws-session", "token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", rf"(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz){B}{{40,}}={{0,2}}"),
    ("aws-mws", "key", "amzn.mws.", rf"amzn\.mws\.{H}{{8}}-{H}{{4}}-{H}{{4}}-{H}{{4}}-{H}{{12}}"),
    ("gcp-api-key", "key", "AIza", rf"AIza{W}{{30,}}"),
    ("gcp-oauth-secret", "key", "GOCSPX-", rf"GOCSPX-{W}{{20,}}"),
    ("gcp-oauth-token", "token", "ya29.", r"ya29\.[A-Za-z0-9_\-.]{20,}"),
    ("gcp-refresh-token", "token", "1//0", rf"1//0{W}{{30,}}"),
    ("gcp-authorisation-code", "code", "4/0A", rf"4/0A{W}{{30,}}"),
    ("gcp-hmac", "key", "GOOG1", r"GOOG1[A-Z0-9]{20,}"),
    ("firebase-fcm", "key", "AAAA", rf"AAAA{W}{{7}}:APA91b{W}{{60,}}"),
    ("azure-client-secret", "key", "Q~", r"[A-Za-z0-9_.~\-]{3}[0-9]Q~[A-Za-z0-9_.~\-]{28,40}"),
    ("azure-sas", "signature", "sig=", r"sig=([A-Za-z0-9%+/]{30,}(?:=|%3[dD])?)"),
    ("azure-devops", "token", "AZDO", rf"{A}{{52}}(?:AAAA|JQQJ9)9?9?AZDO{A}{{4}}"),
    ("azure-function-key", "key", "AzFu", rf"{W}{{40,}}AzFu{W}{{6,}}={{0,2}}"),
    ("azure-common-key", "key", "AzSe AzCa ACRD ASbE AIoT APIM ACDb AEhS", rf"{B}{{30,}}(?:\+|A)(?:AzSe|AzCa|ACRD|ASbE|AIoT|APIM|ACDb|AEhS){B}{{4,}}={{0,2}}"),
    ("alibaba-access-key", "key", "LTAI", rf"LTAI{A}{{12,24}}"),
    ("tencent-secret-id", "key", "AKID", rf"AKID{A}{{32,}}"),
    ("ibm-cloud", "key", "ApiKey-", r"ApiKey-[0-9a-f\-]{36}"),
    ("digitalocean", "token", "dop_v1_ doo_v1_ dor_v1_", rf"do[opr]_v1_{H}{{40,}}"),
    ("hetzner-scaleway", "key", "SCW", r"SCW[A-Z0-9]{17}"),
    ("yandex", "key", "AQVN t1. y0_ YCAJE YCM YCN", rf"AQVN{W}{{35,}}|t1\.[A-Z0-9a-z_\-]+={{0,2}}\.{W}{{80,}}={{0,2}}|y0_{W}{{30,}}|YC[AJEMN]{W}{{36,}}"),
    ("oracle-cloud", "key", "ocid1.credential", rf"ocid1\.credential\.[a-z0-9.\-]*\.{A}{{40,}}"),
    ("flyio", "token", "FlyV1 fo1_ fm1", rf"fo1_{W}{{40,}}|fm[12][ar]?_{B}{{60,}}={{0,3}}"),
    ("render", "key", "rnd_", rf"rnd_{A}{{28,}}"),
    ("railway-vercel", "token", "vcp_ vck_ vci_ vca_ vcr_ vercel_blob_rw_", rf"vc[pkiar]_{A}{{24,}}|vercel_blob_rw_{W}{{30,}}"),
    ("netlify", "token", "nfp_ nfo_ nfc_ nfu_", rf"nf[pocu]_{A}{{36,}}"),
    ("heroku", "key", "HRKU-", rf"HRKU-{W}{{36,}}"),
    ("cloudflare-origin", "key", "v1.0-", rf"v1\.0-{H}{{24}}-{H}{{140,}}"),
    ("cloudflare-token", "token", "cfut_ cfat_ cfk_", rf"cf(?:ut|at|k)_{W}{{30,}}"),
    ("supabase", "key", "sbp_ sb_secret_", rf"sbp_(?:v0_)?{H}{{40,}}|sb_secret_{W}{{20,}}"),
    ("planetscale", "key", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.\-=]{30,}"),
    ("neon", "key", "napi_ npg_", rf"napi_{A}{{40,}}|npg_{A}{{10,}}"),
    ("mongodb-atlas", "key", "mdb_sa_sk_", rf"mdb_sa_sk_{W}{{20,}}"),
    ("upstash-turso", "key", "turso_", rf"turso_{W}{{30,}}"),
    ("cockroach", "key", "CCDB1_", rf"CCDB1_{A}{{20,}}_{A}{{30,}}"),
    ("databricks", "token", "dapi dose", rf"(?:dapi|dose){H}{{32}}(?:-\d)?"),
    ("snowflake", "token", "ver:1-hint:", rf"ver:1-hint:\d+-{B}{{40,}}={{0,2}}"),
    # code, builds, packages
    ("github", "token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{A}{{30,}}"),
    ("github-fine", "token", "github_pat_", r"github_pat_[A-Za-z0-9_]{36,}"),
    ("gitlab", "token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt- GR1348941",
     rf"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_\-.]{{16,}}|GR1348941{W}{{20,}}"),
    ("bitbucket", "token", "ATBB ATCTT3xFfG", rf"ATBB{A}{{32,}}|ATCTT3xFfG[A-Za-z0-9+/=_\-]{{60,}}"),
    ("atlassian", "token", "ATATT3 ATSTT3", r"AT[AS]TT3[A-Za-z0-9+/=_\-]{60,}"),
    ("npm", "token", "npm_", rf"npm_{A}{{36,}}"),
    ("pypi", "token", "pypi-", rf"pypi-{W}{{50,}}"),
    ("rubygems", "key", "rubygems_", rf"rubygems_{H}{{40,}}"),
    ("nuget", "key", "oy2", r"oy2[a-z0-9]{43}"),
    ("crates", "token", "cio", rf"cio{A}{{32}}"),
    ("clojars", "token", "CLOJARS_", r"CLOJARS_[a-z0-9]{50,}"),
    ("packagist", "token", "packagist_", rf"packagist_[ou][ru]t_{H}{{60,}}"),
    ("docker", "token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_{W}{{20,}}"),
    ("artifactory", "key", "AKC cmVmdGtuOj", rf"AKC[a-z0-9]{A}{{60,}}|cmVmdGtuOj{A}{{40,}}"),
    ("jfrog-identity", "token", "eyJ2ZXIiOi", r"eyJ2ZXIiOi[A-Za-z0-9_.\-]{60,}"),
    ("circleci", "token", "CCIPAT_ CCIPRJ_", rf"CCIP(?:AT|RJ)_{A}{{20,}}_{H}{{36,}}"),
    ("buildkite", "token", "bkua_ bkaj_ bkpt_ bkct_ bkat_", rf"bk(?:ua|aj|pt|ct|at)_{A}{{30,}}"),
    ("travis-drone-sonar", "token", "squ_ sqp_ sqa_", rf"sq[upa]_{H}{{40}}"),
    ("snyk-codecov", "token", "snyk_", r"snyk_[a-z]{3}_[A-Za-z0-9_.\-]{30,}"),
    ("terraform-cloud", "token", ".atlasv1.", rf"{A}{{14}}\.atlasv1\.{W}{{60,}}"),
    ("pulumi", "token", "pul-", rf"pul-{H}{{40}}"),
    ("doppler", "token", "dp.", rf"dp\.(?:ct|pt|st|sa|scim|audit|said)(?:\.[a-z0-9\-_]{{2,35}})?\.{A}{{40,44}}"),
    ("infisical", "token", "st.", rf"st\.{H}{{24}}\.{H}{{32}}\.{H}{{32}}"),
    ("prefect", "token", "pnu_ pnb_", rf"pn[ub]_{A}{{36}}"),
    ("hashicorp-vault", "token", "hvs. hvb. hvr.", rf"hv[sbr]\.{W}{{20,}}"),
    ("hashicorp-vault-old", "token", "s. b. r.", rf"[sbr]\.{A}{{24}}\b"),
    ("onepassword", "token", "ops_ey A3-",
        rf"ops_ey{W}{{60,}}|A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}"
        rf"|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})-[A-Z0-9]{{5}}-[A-Z0-9]{{5}}-[A-Z0-9]{{5}}"),
    ("bitwarden", "token", "0.", rf"0\.{H}{{8}}-{H}{{4}}-{H}{{4}}-{H}{{4}}-{H}{{12}}\.{A}{{30}}:{B}{{22}}=="),
    ("age", "private-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}"),
    ("tailscale", "key", "tskey-", rf"tskey-(?:[a-z]+-)?{A}+-{A}{{16,}}"),
    ("teleport-ngrok", "token", "ngrok_ ak_", rf"ak_{A}{{27}}|ngrok_{W}{{20,}}"),
    ("wireguard-age-identity", "key", "wg_", rf"wg_{A}{{40,}}"),
    # chat, mail, phones
    ("slack", "token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxo- xoxe. xapp- xoxc- xoxd- xwfp-",
     r"xox[abeoprscd][.\-][A-Za-z0-9%.\-]{10,}|xapp-\d-[A-Za-z0-9\-]{20,}|xwfp-[A-Za-z0-9\-]{20,}"),
    ("slack-webhook", "webhook", "hooks.slack", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_\-]{20,})"),
    ("teams-webhook", "webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/\-]{60,})"),
    ("discord-webhook", "webhook", "/api/webhooks/", rf"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(\d{{15,}}/{W}{{50,}})"),
    ("google-chat-webhook", "webhook", "chat.googleapis.com", r"chat\.googleapis\.com/v1/spaces/[\w\-]+/messages\?(key=[\w\-]+&token=[\w\-%]+)"),
    ("other-webhook", "webhook", "zapier.com hooks. maker.ifttt.com",
     r"(?:hooks\.zapier\.com/hooks/catch/|maker\.ifttt\.com/trigger/\w+/(?:json/)?with/key/"
     r"|hook\.\w+\.make\.com/)([A-Za-z0-9_/\-]{10,})"),
    ("discord", "token", "M N O", rf"[MNO]{W}{{23,27}}\.{W}{{6}}\.{W}{{27,}}"),
    ("telegram", "token", ":AA", rf"(?:bot)?\d{{8,10}}:AA{W}{{32,}}"),
    ("mattermost-zulip-line", "token", "EAAC EAAG EAAB EAAD IGQV", rf"EAA[ABCDGM]{A}{{60,}}|IGQV{W}{{60,}}"),
    ("twilio-key", "key", "SK", rf"SK{H}{{32}}"),
    ("sendgrid", "key", "SG.", rf"SG\.{W}{{16,}}\.{W}{{30,}}"),
    ("sendinblue", "key", "xkeysib- xsmtpsib-", rf"x(?:key|smtp)sib-{H}{{64}}-{A}{{16}}"),
    ("mailgun", "key", "key- pubkey-", rf"(?:pub)?key-{H}{{32}}"),
    ("mailchimp", "key", "-us", rf"{H}{{32}}-us\d{{1,2}}"),
    ("mandrill-resend-postmark", "key", "md- re_", rf"md-{W}{{22}}|re_{A}{{6,}}_{A}{{20,}}"),
    ("courier-novu-loops", "key", "pk_prod_ dk_prod_", r"[pd]k_prod_[A-Z0-9]{26,}"),
    # payments, shops
    ("stripe", "key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_org_", r"(?:sk|rk)_(?:live|test|org)_[A-Za-z0-9_]{16,}"),
    ("stripe-webhook", "key", "whsec_", r"whsec_[A-Za-z0-9+/=_]{24,}"),
    ("square", "token", "EAAA sq0 sandbox-sq0", rf"EAAA{W}{{58,}}|(?:sandbox-)?sq0(?:atp|csp|idp)-{W}{{22,}}"),
    ("paypal-braintree", "token", "access_token$", rf"access_token\$(?:production|sandbox)\${A}{{16}}\${H}{{32}}"),
    ("shopify", "token", "shpat_ shpca_ shppa_ shpss_ shptka_", r"shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32,}"),
    ("adyen", "key", "AQE", r"AQE[A-Za-z0-9]{5,}\.[A-Za-z0-9+/=]{20,}|AQE[A-Za-z0-9+/]{20,}={0,2}-[A-Za-z0-9+/=]{20,}-\S{10,}"),
    ("flutterwave-paystack-razorpay", "key", "FLWSECK sk_ rzp_", rf"FLWSECK(?:_TEST)?-{A}{{12,}}-X|FLWSECK_TEST{A}{{12}}|rzp_(?:live|test)_{A}{{14,}}"),
    ("plaid", "token", "access-production- access-sandbox- access-development-", r"access-(?:production|sandbox|development)-[0-9a-f\-]{36}"),
    ("lemon-gocardless-mollie", "key", "live_ test_", rf"(?:live|test)_{A}{{30,}}|live_{W}{{40,}}"),
    ("coinbase", "key", "organizations/", rf"organizations/{H}{{8}}-[0-9a-f\-]{{27}}/apiKeys/([0-9a-f\-]{{36}})"),
    # models
    ("openai", "key", "sk-", rf"sk-(?:proj-|svcacct-|admin-|None-)?{W}{{20,}}"),
    ("openai-marked", "key", "T3BlbkFJ", rf"sk-{W}{{20,}}T3BlbkFJ{W}{{20,}}"),
    ("openrouter-litellm", "key", "sk-or-", rf"sk-or-(?:v\d-)?{W}{{20,}}"),
    ("huggingface", "token", "hf_ api_org_", rf"hf_{A}{{30,}}|api_org_{A}{{30,}}"),
    ("replicate", "token", "r8_", rf"r8_{A}{{30,}}"),
    ("groq-xai-perplexity", "key", "gsk_ xai- pplx-", rf"gsk_{A}{{40,}}|xai-{A}{{60,}}|pplx-{A}{{40,}}"),
    ("cohere-together-fireworks", "key", "fw_ tgp_v1_ co_", rf"fw_{A}{{20,}}|tgp_v1_{W}{{40,}}"),
    ("langsmith-pinecone", "key", "lsv2_ pcsk_ ls__", rf"lsv2_(?:pt|sk)_[a-f0-9_]{{40,}}|pcsk_{W}{{40,}}|ls__{H}{{32}}"),
    ("nvidia", "key", "nvapi-", rf"nvapi-{W}{{40,}}"),
    ("elevenlabs-assembly", "key", "sk_", rf"sk_{H}{{48}}"),
    ("wandb-langfuse", "key", "sk-lf- wandb_v1_", rf"sk-lf-[0-9a-f\-]{{36}}|wandb_v1_{W}{{40,}}"),
    # watching
    ("datadog", "key", "ddapp_ pub", rf"ddapp_{A}{{30,}}"),
    ("newrelic", "key", "NRAK- NRJS- NRII- NRAL NRIQ- NRRA-", rf"NR(?:AK|JS|II|IQ|RA|AA|AL)-{A}{{19,}}|{A}{{30,}}NRAL"),
    ("grafana", "token", "glc_ glsa_", rf"glc_{B}{{30,}}={{0,2}}|glsa_{A}{{30,}}_{H}{{8}}"),
    ("grafana-old", "token", "eyJrIjoi", rf"eyJrIjoi{B}{{40,}}={{0,2}}"),
    ("sentry", "token", "sntrys_ sntryu_ sntrya_", r"sntry[sua]_[A-Za-z0-9_+/=\-]{30,}"),
    ("honeycomb", "key", "hcaik_ hcxik_ hcamk_ hcxmk_", r"hc[ax][im]k_[a-z0-9]{26,}"),
    ("dynatrace", "token", "dt0", r"dt0[a-zA-Z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("logz-lightstep-axiom", "token", "xaat- xapt-", r"xa[ap]t-[0-9a-f\-]{36}"),
    ("pagerduty", "token", "u+ y_NbAkKc66ryYTWUXYEu", rf"u\+{W}{{18}}\b"),
    ("opsgenie-victorops", "key", "genie", rf"GenieKey {H}{{8}}-{H}{{4}}-{H}{{4}}-{H}{{4}}-{H}{{12}}"),
    ("posthog-amplitude-segment", "key", "phx_ phs_ sgp_", rf"ph[xs]_{A}{{30,}}|sgp_{A}{{40,}}"),
    ("launchdarkly", "key", "sdk- mob-", rf"(?:sdk|mob)-{H}{{8}}-{H}{{4}}-{H}{{4}}-{H}{{4}}-{H}{{12}}"),
    ("elastic", "key", "essu_", rf"essu_{B}{{40,}}={{0,2}}"),
    ("splunk-hec", "token", "Splunk ", rf"Splunk ({H}{{8}}-{H}{{4}}-{H}{{4}}-{H}{{4}}-{H}{{12}})"),
    ("sumo", "key", "su", rf"\bsu{A}{{12}}:{A}{{64}}"),
    # desks and others
    ("linear-notion-figma-asana", "key", "lin_api_ lin_oauth_ secret_ ntn_ figd_ figdr_ figu_",
     rf"lin_(?:api|oauth)_{A}{{30,}}|secret_{A}{{40,}}|ntn_{A}{{40,}}|fig(?:d|dr|u|or|o)_{W}{{30,}}"),
    ("airtable", "token", "pat key", rf"pat{A}{{14}}\.{H}{{64}}"),
    ("typeform-contentful", "token", "tfp_ CFPAT-", rf"tfp_[A-Za-z0-9_.=\-]{{40,}}|CFPAT-{W}{{40,}}"),
    ("hubspot", "token", "pat-na1- pat-eu1- pat-na2- pat-ap1-", r"pat-(?:na|eu|ap)\d-[0-9a-f\-]{36}"),
    ("salesforce", "token", "00D", r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{60,}"),
    ("intercom-zendesk", "token", "dG9rOj", rf"dG9rOj{B}{{40,}}={{0,2}}"),
    ("okta", "token", "00", rf"\b00{W}{{40}}\b"),
    ("postman", "key", "PMAK-", rf"PMAK-{H}{{24}}-{H}{{34}}"),
    ("readme-easypost-shippo", "key", "rdme_ EZAK EZTK shippo_", rf"rdme_[a-z0-9]{{60,}}|EZ[AT]K{A}{{50,}}|shippo_(?:live|test)_{H}{{40}}"),
    ("duffel-frameio-defined", "key", "duffel_ fio-u- dnkey-", rf"duffel_(?:live|test)_{W}{{40,}}|fio-u-{W}{{60,}}|dnkey-[A-Z2-7]{{20,}}-[A-Z2-7]{{50,}}"),
    ("mapbox", "token", "sk.eyJ", rf"sk\.eyJ{W}{{40,}}\.{W}{{20,}}"),
    ("dropbox", "token", "sl.", rf"sl\.(?:u\.)?{W}{{60,}}"),
    ("zoho-freshbooks", "token", "1000.", rf"1000\.{H}{{32}}\.{H}{{32}}"),
    ("contentstack-sanity-algolia", "token", "cs sk", rf"\bcs{H}{{16,}}blt{H}{{16}}"),
    ("scalr-spacelift-env0", "token", "at-", r"\bat-[a-z0-9]{20,}\.[A-Za-z0-9_\-]{20,}"),
    ("nkey-nats", "key", "SU SA SO SN", r"S[UAON][A-Z2-7]{56}"),
    ("ethereum-bitcoin", "private-key", "xprv zprv yprv", r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    ("sourcegraph", "token", "sgp_ slk_", rf"sgp_(?:{H}{{16}}_)?{H}{{40}}|slk_{H}{{64}}"),
    ("mercury-brex-ramp", "token", "secret-token:", r"secret-token:\S{20,}"),
    ("expo-codemagic-appcenter", "token", "exp_", rf"exp_{A}{{40}}"),
    ("fastly-akamai", "token", "akab-", rf"akab-{W}{{16}}-{W}{{16}}"),
    ("confluent", "key", "cflt", rf"cflt{B}{{56,}}={{0,2}}"),
    ("tavily-firecrawl-exa", "key", "tvly- fc-", rf"tvly-(?:dev-|prod-)?{A}{{24,}}|fc-{H}{{32}}"),
    ("trigger-inngest", "key", "tr_dev_ tr_prod_ tr_stg_ tr_pat_ signkey-", rf"tr_(?:dev|prod|stg|pat)_{A}{{20,}}|signkey-[a-z]+-{H}{{32,}}"),
    ("e2b-daytona-runpod", "key", "e2b_ dtn_ rpa_", rf"e2b_{H}{{40}}|dtn_{H}{{64}}|rpa_[A-Z0-9]{{40,}}"),
    ("apify-browserbase", "key", "apify_api_ bb_live_", rf"apify_api_{A}{{30,}}|bb_live_{W}{{24,}}"),
    ("cerebras-helicone", "key", "csk- sk-helicone-", r"csk-[a-z0-9]{48}|sk-helicone-[a-z0-9\-]{20,}"),
    ("polar-paddle", "token", "polar_ pdl_", rf"polar_[a-z]{{2,5}}_{A}{{40,}}|pdl_(?:live|sdbx)_apikey_[A-Za-z0-9_]{{40,}}"),
    ("xata-unkey-logfire-ory", "key", "xau_ unkey_ pylf_ ory_", rf"xau_{A}{{30,}}|unkey_{A}{{16,}}|pylf_v\d_[a-z]{{2}}_{A}{{30,}}|ory_(?:pat|st|at|rt|ac)_{W}{{20,}}"),
    ("postman-collection", "key", "PMAT-", r"PMAT-[A-Z0-9]{20,}"),
    ("adafruit-wakatime", "key", "aio_ waka_", rf"aio_{A}{{28}}|waka_[0-9a-f\-]{{36}}"),
    ("trello-asana", "token", "ATTA 1/", rf"ATTA{A}{{60,}}|1/\d{{16}}:{H}{{32}}"),
    ("twitch", "token", "oauth:", r"oauth:[a-z0-9]{30}"),
    ("convex", "key", "prod: dev: preview:", rf"(?:prod|dev|preview):[a-z]+-[a-z]+-\d{{3}}\|{B}{{40,}}={{0,2}}"),
    ("aiven", "password", "AVNS_ AVNU_", rf"AVNS_{W}{{12,}}|AVNU_[A-Za-z0-9+/]{{60,}}={{0,2}}"),
    ("checkout-clearbit", "key", "sk_", rf"sk_(?:test_|sbox_)?(?:[0-9a-f\-]{{36}}|[a-z2-7]{{26}}[a-z2-7*:$#]|{H}{{32}})"),
    ("notify-block-chief", "key", "gcntfy- b10ck5. ctp_", rf"gcntfy-[a-z0-9_\-]{{70,}}|b10ck5\.{H}{{32}}\.[0-9a-f\-]{{36}}|ctp_{A}{{36}}"),
    ("devcycle-datadog-rcm", "key", "dvc_server_ DDRCM_", r"dvc_server_[0-9a-f_]{40,}|DDRCM_[A-Z2-7]{60,}"),
    # formats without a vendor
    ("jwt", "token", "eyJ", r"eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]{4,}){1,4}\.?|eyJ[A-Za-z0-9_\-]{100,}"),
    ("bcrypt", "password-hash", "$2", r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{31,53}"),
    ("crypt", "password-hash", "$apr1$ $1$ $5$ $6$ $7$ $y$ $gy$ $sha1$", r"\$(?:apr1|1|5|6|7|y|gy|sha1)\$(?:rounds=\d+\$)?[./A-Za-z0-9$]{8,}"),
    ("argon-scrypt", "password-hash", "$argon2 $scrypt$ $pbkdf2", r"\$(?:argon2(?:id|i|d)?|scrypt|pbkdf2[a-z0-9\-]*)\$[^\s\"'`:]{16,}"),
    ("django", "password-hash", "pbkdf2_ argon2$ bcrypt_sha256$ scrypt:",
        r"(?:pbkdf2_sha\d+|argon2|bcrypt_sha256|bcrypt|scrypt)\$[^\s\"'`]{20,}|(?:scrypt"
        r"|pbkdf2):[\w:]+\$[^\s\"'`]{20,}"),
    ("ldap", "password-hash", "{SSHA {SHA {MD5} {SMD5} {CRYPT} {PBKDF2", r"\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT|PBKDF2[\w\-]*)\}[A-Za-z0-9+/=$.]{12,}"),
    ("scram", "password-hash", "SCRAM-SHA-", r"SCRAM-SHA-\d+\$\d+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=:]{20,}"),
    ("ntlm", "password-hash", "aad3b435b51404ee", r"[0-9a-fA-F]{32}:[0-9a-fA-F]{32}:::"),
    ("postgres-md5", "password-hash", "'md5 \"md5", rf"[\"'](md5{H}{{32}})[\"']"),
    ("mysql-native", "password-hash", "'* \"*", r"[\"'](\*[0-9A-F]{40})[\"']"),
)  # fmt: skip


_WORDS = re.compile(r"[a-z_.\-]*")
_DIGITS = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True)
class Format:
    """The form of one vendor's token."""

    name: str
    kind: str
    words: tuple[str, ...]
    pattern: Any
    """Compiled; the last group that took part is the token."""
    groups: int
    """How many groups it has."""
    unbound: Any
    """The same without the left bound, for text whose line breaks were taken out."""

    def accepts(self, token: str) -> bool:
        """False for words with hyphens that happen to begin like a token: `…-desk-display-screen`."""
        rest = token
        for word in self.words:
            rest = rest.removeprefix(word)
        if len(self.words[0]) > 2:
            return not _WORDS.fullmatch(rest)
        # hardly a prefix: the rest has to speak for itself
        return len(set(rest)) >= 8 and (is_striking(token) or is_hex(rest) or len(_DIGITS.findall(rest)) >= 8)


def _format(name: str, kind: str, words: str, pattern: str) -> Format:
    bound = compile_(rf"(?:^|[^A-Za-z0-9\-]|%[0-9A-Fa-f]{{2}}|\\[nrtu])({pattern})")
    return Format(name, kind, tuple(words.split()), bound, bound.groups, compile_(f"({pattern})"))


FORMATS: tuple[Format, ...] = tuple(_format(*line) for line in _TABLE)
