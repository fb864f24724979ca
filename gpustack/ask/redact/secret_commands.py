"""Rules for secrets in commands, and in settings whose name and value are separated by a blank: `htpasswd -b FILE USER
x`, `echo x | sudo -S`, `requirepass x`.

The text between a program and its secret is bounded, so that a text of any length is read in linear time.
"""

import re

from gpustack.ask.redact.secret_shapes import EXACT, build_shape, is_argument


def is_encoded(match: re.Match[str]) -> bool:
    """Tell whether the secret looks like base64: a word of a sentence has no digit, no capital behind its first letter
    and no `=`."""
    return any(char.isdigit() or char.isupper() or char == "=" for char in match["s"][1:])


def is_read_as_password(match: re.Match[str]) -> bool:
    """Tell whether the command before the secret reads a password from standard input."""
    return READERS.search(match.string, max(match.start() - LOOKS_BACK, 0), match.start()) is not None


LOOKS_BACK = 120
READERS = re.compile(
    r"\b(?:chpasswd|kinit|cryptsetup|smbpasswd|passwd|openssl|gpg)\b|--[\w-]{0,20}stdin|--passphrase-fd|"
    r"\bsudo\b[^\n|;&<]{0,60}?[ \t]-[A-Za-z]{0,6}S\b"
)
# As far as one command goes; and what a flag and its value may be parted by.
REST = r"[^\n|;&]{0,200}?"
OPEN = r"\\*+[\"']?"
VALUE = r"(?P<s>[^\s\"'\\|;&]++)"
SHORT_FLAGS = "|".join(
    (
        rf"(?:mysql\w{{0,10}}|mariadb[\w-]{{0,10}})\b{REST}[ \t]-p",
        rf"(?:7z[azr]?|rar|unrar)\b{REST}[ \t]-h?p",
        r"sshpass[ \t]+-p[ \t]*+",
        rf"(?:redis|valkey)-cli\b{REST}[ \t]-a[ \t]*+",
        rf"(?:docker|podman|nerdctl|buildah|skopeo|oras|crane|az|oc|helm registry)[ \t]+login\b{REST}[ \t]-p[ \t]*+",
        rf"(?:mongo\w{{0,8}}|cqlsh|rabbitmqadmin|rdesktop|useradd|usermod)\b{REST}[ \t]-p[ \t]*+",
        rf"(?:ipmitool|zip|unzip|sqlcmd|bcp|isql|tsql)\b{REST}[ \t]-P[ \t]*+",
        rf"(?:ldap\w{{3,10}}|kadmin|dsconf)\b{REST}[ \t]-[wW][ \t]*+",
        rf"(?:ldappasswd|slappasswd)\b{REST}[ \t]-[as][ \t]*+",
        rf"snmp\w{{2,12}}\b{REST}[ \t]-[cAX][ \t]*+",
        rf"openssl[ \t]+\w{{1,20}}\b{REST}[ \t]-[kK][ \t]++",
        rf"(?:plink|pscp|psftp|kadmin)\b{REST}[ \t]-pw[ \t]++",
    )
)
LOGIN_FLAGS = "user|proxy-user|creds|src-creds|dest-creds|(?:http-|basic-)?auth|basic|userpass|login"
LOGINS = "|".join(
    (
        rf"\bcurl\b[^\n|;&]{{0,300}}?[ \t]-[A-Za-z#]{{0,8}}[uU][ \t=]*+{OPEN}[^\s:\"'/\\]{{0,100}}+:",
        rf"\b(?:wget|http|xh)\b[^\n|;&]{{0,300}}?[ \t]-[uUa][ \t=]*+{OPEN}[^\s:\"'/\\]{{0,100}}+:",
        rf"--(?:{LOGIN_FLAGS})[ \t=]++{OPEN}[^\s:\"'/\\]{{0,100}}+:",
        rf"\b(?:smb\w{{2,10}}|rpcclient|net|wbinfo)\b{REST}[ \t](?:-U|--user)[ \t=]*+{OPEN}[^\s%\"'\\]{{1,100}}+%",
        rf"\blftp\b{REST}[ \t]-u[ \t]*+{OPEN}[^\s,\"'\\]{{1,100}}+,",
        rf"\b(?:sqlplus|expdp|impdp)\b{REST}[ \t]{OPEN}[\w$#]{{1,60}}+/",
    )
)
FLAGS = r"(?:--?[\w-]{1,40}(?:=\S{1,100})?[ \t]++){0,8}"
LETTERS = r"(?:-[A-Za-z]{1,8}[ \t]++(?:\d++[ \t]++)?){0,4}"
WORDS = r"(?:[^\s\"'\\]{1,200}+[ \t]++)"
KEY = r"[\w.:/-]{0,40}?(?:secret|token|pass)[\w-]{0,30}"
PLACES = "|".join(
    (
        rf"htpasswd[ \t]++{LETTERS}-[A-Za-z]{{0,8}}b[A-Za-z]{{0,8}}[ \t]++{LETTERS}{WORDS}{{1,2}}",
        rf"mc[ \t]++(?:alias[ \t]++set|config[ \t]++host[ \t]++add)[ \t]++{FLAGS}(?:[^\s\\]{{1,300}}+[ \t]++){{3}}",
        rf"(?:wandb|vault)[ \t]++login[ \t]++{FLAGS}",
        r"ngrok[ \t]++(?:config[ \t]++add-)?authtoken[ \t]++",
        r"wpa_passphrase[ \t]++\S{1,100}[ \t]++",
        r"rabbitmqctl[ \t]++(?:add_user|change_password|authenticate_user)[ \t]++\S{1,100}[ \t]++",
        rf"ipmitool\b{REST}[ \t]user[ \t]++set[ \t]++password[ \t]++\d{{1,3}}[ \t]++",
        r"virsh[ \t]++secret-set-value[ \t]++\S{1,100}[ \t]++",
        rf"(?:aws|rclone|gcloud|git|npm|pip|poetry|composer)\b[^\n|;&]{{0,60}}?[ \t]{KEY}[ \t]++",
    )
)
SETTINGS = "|".join(
    (
        r"(?:requirepass|masterauth|r[ow]community6?|bindpw|rootpw|authtok|ldap_default_authtok)\\*+[\"']?[ \t:=]++",
        r"sentinel[ \t]++auth-pass[ \t]++\S{1,100}[ \t]++",
        r"com2sec6?[ \t]++(?:-Cn[ \t]++\S{1,100}[ \t]++)?\S{1,100}[ \t]++\S{1,100}[ \t]++",
        r"snmp-server[ \t]++community[ \t]++",
        r"(?:password|secret|key|community|md5)[ \t]++[05789][ \t]++(?=\S{0,60}\d)(?=\S{6})",
        r"username[ \t]++\S{1,60}[ \t]++(?:privilege[ \t]++\d++[ \t]++)?(?:password|secret)[ \t]++(?:\d[ \t]++)?",
        r"(?:wifi-sec|802-11-wireless-security|wsec)\.psk[ \t]++",
        r"(?-i:PSK|XAUTH|EAP|NTLM)[ \t]++(?=\\*+[\"']|0[sx])",
    )
)
STDIN = (
    r"(?:sudo\b[^\n|;&<]{0,60}?[ \t](?:-[A-Za-z]{0,6}S|--stdin)"
    r"|(?:sudo[ \t]++)?(?:chpasswd|kinit|cryptsetup|smbpasswd|passwd|su|openssl|gpg)\b"
    r"|[^\n|;&<]{0,200}?(?:--[\w-]{0,20}stdin|--passphrase-fd|--key-file[ \t=]-))"
)
COMMANDS = (
    build_shape(
        "login as an argument",
        rf"(?:{LOGINS})(?P<s>[^\s\"'\\]++)",
        "curl -u kube:n0tapassword http://example.com",
        "curl(1), http(1), lftp(1), smbclient(1); crictl pull --creds; sqlplus USER/PASSWORD@DB",
        flags=EXACT,
    ),
    build_shape(
        "password as an argument",
        rf"\b(?:{SHORT_FLAGS}){OPEN}{VALUE}",
        "mysql -pn0tapassword",
        "mysql(1), sshpass(1), ipmitool(1), ldapsearch(1), zip(1), snmpcmd(1), slappasswd(8), docker login --help",
        is_argument,
        flags=EXACT,
    ),
    build_shape(
        "password at a place",
        rf"\b(?:{PLACES}){OPEN}{VALUE}",
        "htpasswd -b /etc/nginx/users kube n0tapassword",
        "htpasswd(1), mc alias set --help, wandb login --help, rabbitmqctl(8), wpa_passphrase(8), virsh(1)",
        is_argument,
    ),
    build_shape(
        "setting of a server",
        rf"(?:\b|(?<=\\n)|(?<=\\t))(?:{SETTINGS}){OPEN}(?P<s>[^\s\"'\\]++)",
        "requirepass n0tapassword",
        "redis.conf, snmpd.conf(5), nslcd.conf(5), slapd.conf(5), ipsec.secrets(5), IOS: password 7",
        is_argument,
    ),
    build_shape(
        "users of SNMP",
        r"\bcreateUser[ \t]++(?:-e[ \t]++\S{1,100}[ \t]++)?[^\s\"]{1,100}+[ \t]++(?:MD5|SHA\S{0,8})[ \t]++"
        r"(?P<s>(?:[^\n\\\"]|\\*+\"[^\"\\\n]{0,200}+\\*+\"(?=[ \t]))++)",
        "createUser kube SHA n0tapassword AES an0therpassword",
        "snmpd.conf(5)",
    ),
    build_shape(
        "password through a pipe",
        rf"\b(?:echo|printf)[ \t]++(?:-[neE]{{1,3}}[ \t]++|{OPEN}%s(?:\\++n)?{OPEN}[ \t]++){{0,3}}{OPEN}"
        rf"(?P<s>[^\s|\"'\\](?:[^\n|\"'\\]{{0,199}}[^\s|\"'\\])?+){OPEN}[ \t]*+(?:\\++n[\"'])?[ \t]*+\|[ \t]*+{STDIN}",
        "echo n0tapassword | sudo -S true",
        "sudo(8) -S, chpasswd(8), docker login --password-stdin, gpg(1) --passphrase-fd",
    ),
    build_shape(
        "password on standard input",
        rf"<<<[ \t]*+{OPEN}{VALUE}",
        "sudo -S true <<< n0tapassword",
        "bash(1): Here Strings",
        is_read_as_password,
    ),
    build_shape(
        "passwords of a here-document",
        r"\bchpasswd\b[^\n|;&<]{0,60}<<-?[ \t]*+\\*+[\"']?(?P<end>\w{1,20})\\*+[\"']?(?:\n|\\n)"
        r"(?P<s>(?:(?!(?P=end)).){1,4096})",
        "chpasswd <<EOF\nkube:n0tapassword\nEOF",
        "bash(1): Here Documents",
        flags=re.IGNORECASE | re.DOTALL,
    ),
    build_shape(
        "login of SMTP and IMAP",
        r"\bAUTH(?:ENTICATE)?[ \t]++(?:PLAIN|LOGIN|CRAM-MD5|NTLM|XOAUTH2|OAUTHBEARER|SCRAM-SHA-\d{1,3})[ \t]++"
        r"(?P<s>[A-Za-z0-9+/]{4,}+={0,2})",
        "AUTH PLAIN AGt1YmUAbjB0YXBhc3N3b3Jk",
        "RFC 4954, RFC 9051 6.2.2",
        is_encoded,
    ),
    build_shape(
        "reply to the prompt for a password in SMTP",
        r"\b334 UGFzc3dvcmQ6(?:\\[rn]|\W){1,12}+(?:C:[ \t]*+)?(?P<s>[A-Za-z0-9+/]{4,}+={0,2})",
        "334 UGFzc3dvcmQ6\nbjB0YXBhc3N3b3Jk",
        "draft-murchison-sasl-login: the server asks in base64",
    ),
    build_shape(
        "line of .pgpass",
        r"(?<![\w.:*-])[\w.*-]{1,100}+:(?:5432|6432|\*):[\w.*-]{1,60}+:[\w.*-]{1,60}+:(?P<s>[^\s\"'\\]++)",
        "db.example.com:5432:metrics:kube:n0tapassword",
        "postgresql.org/docs/current/libpq-pgpass.html",
    ),
)
