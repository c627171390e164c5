"""All settings in one file, read top to bottom, safe by default. docs/settings.md documents each variable."""

from __future__ import annotations

from typing import Any

from evalsvc import __version__
from evalsvc.env import (
    env_bool,
    env_fernet_keys,
    env_hosts,
    env_int,
    env_list,
    env_networks,
    env_origin,
    env_ports,
    env_roles,
    env_secret,
    env_str,
    parse_whole_number,
    postgres_settings,
    refuse_renamed_variables,
)

refuse_renamed_variables()

# --- Where do I run? -------------------------------------------------------------------------------------------------
DEBUG = False
SECRET_KEY = env_secret("SECRET_KEY")
KEY_PEPPER = env_secret("KEY_PEPPER")
ENCRYPTION_KEYS = env_fernet_keys("ENCRYPTION_KEYS")
ALLOWED_HOSTS = env_hosts("EVALSVC_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
ROOT_URLCONF = env_str("EVALSVC_ROOT_URLCONF", "evalsvc.urls")
WSGI_APPLICATION = "evalsvc.wsgi.application"
LOG_LEVEL = env_str("EVALSVC_LOG_LEVEL", "INFO")
ACCESS_LOG = env_bool("EVALSVC_ACCESS_LOG", True)  # a line for each request, by gunicorn

# --- Who may call, and how? ------------------------------------------------------------------------------------------
REQUIRE_HTTPS = env_bool("EVALSVC_REQUIRE_HTTPS", True)
BEHIND_PROXY = env_bool("EVALSVC_BEHIND_PROXY", False)
RPM_LIMIT = env_int("EVALSVC_RPM_LIMIT", 60_000)  # requests per account and clock minute
MONTHLY_LIMIT = env_int("EVALSVC_MONTHLY_LIMIT", 100_000_000)  # requests per account and calendar month
METRICS_KEY = env_str("EVALSVC_METRICS_KEY", "")  # empty: /metrics answers 404
MAX_BODY_BYTES = env_int("EVALSVC_MAX_BODY_BYTES", 4 * 1024 * 1024, lowest=1)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
MAX_UPLOAD_BYTES = env_int("EVALSVC_MAX_UPLOAD_BYTES", 512 * 1024 * 1024, lowest=1)  # files of data sets
MAX_EXAMPLES = env_int("EVALSVC_MAX_EXAMPLES", 1_000_000, lowest=1)  # per version of a data set
TELEMETRY_MAX_BYTES = env_int("EVALSVC_TELEMETRY_MAX_BYTES", 8 * 1024 * 1024, lowest=1)  # of spans or logs, unpacked
API_KEY_CACHE_SECONDS = env_int("EVALSVC_API_KEY_CACHE_SECONDS", 30)

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = REQUIRE_HTTPS
# A browser keeps what begins so only of this host over https: no neighbour in the domain can set it.
SESSION_COOKIE_NAME = "__Host-sessionid" if REQUIRE_HTTPS else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if REQUIRE_HTTPS else "csrftoken"
SESSION_COOKIE_HTTPONLY = True
SESSION_ENGINE = "evalsvc.accounts.access.session_store"  # Django's, read together with who it lets in
SECURE_SSL_REDIRECT = False  # plain http is refused: a redirect would have leaked the key already
SECURE_HSTS_SECONDS = env_int("EVALSVC_HSTS_SECONDS", 31_536_000) if REQUIRE_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = REQUIRE_HTTPS
# Hard to undo, and binds every host of the domain, so it is left to the domain owner to enable.
SECURE_HSTS_PRELOAD = REQUIRE_HTTPS and env_bool("EVALSVC_HSTS_PRELOAD", False)
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_TRUSTED_ORIGINS = env_list("EVALSVC_CSRF_TRUSTED_ORIGINS")
# W008: see SECURE_SSL_REDIRECT. W021: see SECURE_HSTS_PRELOAD. W003: the CSRF middleware is there, as a subclass.
SILENCED_SYSTEM_CHECKS = ["security.W008", "security.W021", "security.W003"]

# --- How does the console show money? --------------------------------------------------------------------------------
CURRENCY = env_str("EVALSVC_CURRENCY", "USD")  # of the prices of all connections, and so of costs and budgets

# --- How do people sign in? ------------------------------------------------------------------------------------------
PUBLIC_URL = env_origin("EVALSVC_PUBLIC_URL", "")  # what links in mails begin with, and where a provider leads back to
EMAIL_HOST = env_str("EVALSVC_SMTP_HOST", "")  # empty: no mails, and no "forgotten password"
EMAIL_PORT = env_int("EVALSVC_SMTP_PORT", 587, lowest=1)
EMAIL_HOST_USER = env_str("EVALSVC_SMTP_USER", "")
EMAIL_HOST_PASSWORD = env_str("EVALSVC_SMTP_PASSWORD", "")
EMAIL_USE_TLS = env_bool("EVALSVC_SMTP_STARTTLS", True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env_str("EVALSVC_SMTP_FROM", "evalsvc@localhost")
PASSWORD_RESET_TIMEOUT = 3600
OIDC_ISSUER = env_origin("EVALSVC_OIDC_ISSUER", "")  # empty: no single sign-on
OIDC_CLIENT_ID = env_str("EVALSVC_OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = env_str("EVALSVC_OIDC_CLIENT_SECRET", "")
OIDC_LABEL = env_str("EVALSVC_OIDC_LABEL", "single sign-on")
OIDC_SCOPES = env_list("EVALSVC_OIDC_SCOPES", "openid,profile,email")
OIDC_ROLE_CLAIM = env_str("EVALSVC_OIDC_ROLE_CLAIM", "groups")
OIDC_ROLES = env_roles("EVALSVC_OIDC_ROLES", "")  # (name at the provider, account, role)
OIDC_FACTOR = env_list("EVALSVC_OIDC_FACTOR", "mfa")  # values of `amr` or `acr` that count as a second factor
OIDC_LINK_BY_EMAIL = env_bool("EVALSVC_OIDC_LINK_BY_EMAIL", False)
# then sign-in with the provider is required again
OIDC_SESSION_HOURS = env_int("EVALSVC_OIDC_SESSION_HOURS", 12, lowest=1)

# --- Whom may it call? -----------------------------------------------------------------------------------------------
# Private, loopback and other special networks are refused unless they are named here.
OUTBOUND_ALLOW = env_networks("EVALSVC_OUTBOUND_ALLOW", "")
OUTBOUND_PORTS = env_ports("EVALSVC_OUTBOUND_PORTS", "80,443,8000-9999")  # of public addresses
OUTBOUND_PLAIN_HTTP = env_bool("EVALSVC_OUTBOUND_PLAIN_HTTP", False)  # http:// outside of the networks above

# --- How is work done? -----------------------------------------------------------------------------------------------
INLINE_LANE = env_str("EVALSVC_INLINE_LANE", "inline")  # "worker" sends inline families through Celery too
INLINE_MAX_CHARS = env_int("EVALSVC_INLINE_MAX_CHARS", 20_000)  # longer samples leave the web process
COMPUTE_SECONDS = env_int(
    "EVALSVC_COMPUTE_SECONDS", 10, lowest=1
)  # CPU time of an evaluation; more is `input_too_long`
WAIT_SECONDS = env_int("EVALSVC_WAIT_SECONDS", 25)  # default wait of /v1/evaluate for workers
MAX_WAIT_SECONDS = env_int("EVALSVC_MAX_WAIT_SECONDS", 60)
_max_waiters = env_str("EVALSVC_MAX_WAITERS", "")  # per web process; empty: all of its threads but 32
MAX_WAITERS = parse_whole_number("EVALSVC_MAX_WAITERS", _max_waiters) if _max_waiters else None
LEASE_SECONDS = env_int(
    "EVALSVC_LEASE_SECONDS", 10, lowest=1
)  # after this a queued evaluation without an answer is enqueued again
WORK_LEASE_SECONDS = env_int("EVALSVC_WORK_LEASE_SECONDS", 30, lowest=1)  # how long a worker has before another may try
MAX_ATTEMPTS = env_int("EVALSVC_MAX_ATTEMPTS", 5, lowest=1)
JUDGE_SLOTS = env_int("EVALSVC_JUDGE_SLOTS", 512, lowest=1)  # judged evaluations that a runner has in flight
# total for all LLM calls of one score
JUDGE_DEADLINE_SECONDS = env_int("EVALSVC_JUDGE_DEADLINE_SECONDS", 120, lowest=1)
JUDGE_PATIENCE_SECONDS = env_int("EVALSVC_JUDGE_PATIENCE_SECONDS", 120)  # how long an evaluation waits for its turn
JUDGE_CACHE_ANSWERS = env_int("EVALSVC_JUDGE_CACHE_ANSWERS", 50_000)  # remembered for each account
EXPERIMENT_SCHEDULERS = env_int("EVALSVC_EXPERIMENT_SCHEDULERS", 2)  # at once, over all machines; each takes a process
EXPERIMENT_UNIT_RUNNERS = env_int(
    "EVALSVC_EXPERIMENT_UNIT_RUNNERS", 8, lowest=1
)  # queries in flight, of each scheduler
EXPERIMENT_LEASE_SECONDS = env_int("EVALSVC_EXPERIMENT_LEASE_SECONDS", 30, lowest=1)  # renewed while the worker runs
EXPERIMENT_SCHEDULER_SECONDS = env_int(
    "EVALSVC_EXPERIMENT_SCHEDULER_SECONDS", 120, lowest=1
)  # then another one takes over
RETENTION_UNCAPTURED_SECONDS = env_int("EVALSVC_RETENTION_UNCAPTURED_SECONDS", 3600)
RETENTION_DAYS = env_int("EVALSVC_RETENTION_DAYS", 0)  # texts and evaluations; 0 disables expiry
RETENTION_HISTORY_DAYS = env_int("EVALSVC_RETENTION_HISTORY_DAYS", 0)  # scores of histories; 0 disables expiry
RETENTION_TELEMETRY_DAYS = env_int("EVALSVC_RETENTION_TELEMETRY_DAYS", 30)  # spans and logs; 0 disables expiry
EVENTS_RETENTION_DAYS = env_int("EVALSVC_EVENTS_RETENTION_DAYS", 30)  # events and their deliveries; 0 disables expiry
MODELS = env_str("EVALSVC_MODELS", "")  # each folder in it is an evaluator

# --- Where is the data? ----------------------------------------------------------------------------------------------
# Four roles of one database: the application is bound by row-level security, the owner migrates, the system sweeps, and
# people sign in by a role that sees nothing else.
DATABASE_URL = env_str("DATABASE_URL", "postgresql:///evalsvc")
DATABASE_MIGRATION_URL = env_str("DATABASE_MIGRATION_URL", DATABASE_URL)
DATABASE_SYSTEM_URL = env_str("DATABASE_SYSTEM_URL", DATABASE_URL)
DATABASE_SIGNIN_URL = env_str("DATABASE_SIGNIN_URL", DATABASE_SYSTEM_URL)
DATABASE_ADMIN_URL = env_str("DATABASE_ADMIN_URL", "")  # `bootstrap` and `restore` make roles and database with it
DATABASE_POOL_SIZE = env_int("EVALSVC_DATABASE_POOL_SIZE", 10)  # connections per process
MIGRATION_LOCK_SECONDS = env_int("EVALSVC_MIGRATION_LOCK_SECONDS", 5, lowest=1)  # that a migration waits for a lock
# Prepared statements do not survive a transaction pooler older than PgBouncer 1.21.
PREPARE_THRESHOLD = None if env_bool("EVALSVC_PGBOUNCER", False) else 3


def _database(url: str, name: str, *, pool_size: int) -> dict[str, Any]:
    database = postgres_settings(url, name=name)
    database["CONN_HEALTH_CHECKS"] = True
    options: dict[str, Any] = {"prepare_threshold": PREPARE_THRESHOLD, "server_side_binding": True}
    options["application_name"] = "evalsvc"
    if pool_size:
        options["pool"] = {"min_size": 0, "max_size": pool_size, "timeout": 10, "max_idle": 30, "reconnect_timeout": 2}
    database["OPTIONS"] = {"connect_timeout": "5", **database["OPTIONS"], **options}  # type: ignore[dict-item]
    database["DISABLE_SERVER_SIDE_CURSORS"] = PREPARE_THRESHOLD is None
    return database


DATABASES = {
    "default": _database(DATABASE_URL, "DATABASE_URL", pool_size=DATABASE_POOL_SIZE),
    "owner": _database(DATABASE_MIGRATION_URL, "DATABASE_MIGRATION_URL", pool_size=0),
    # Opened as needed: a scheduler alone takes three (claims, the watcher, the planner).
    "system": _database(DATABASE_SYSTEM_URL, "DATABASE_SYSTEM_URL", pool_size=8),
    # Given back after each statement or transaction.
    "signin": _database(DATABASE_SIGNIN_URL, "DATABASE_SIGNIN_URL", pool_size=4),
}
DATABASE_ROUTERS = ["evalsvc.tenancy.scope.RoleRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env_str("REDIS_URL", "redis://localhost:6379/0")
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# --- Celery ----------------------------------------------------------------------------------------------------------
CELERY_BROKER_URL = env_str("CELERY_BROKER_URL", REDIS_URL)

# --- What is installed? ----------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",  # the other one would put its own site in place of ours
    "evalsvc.accounts.apps.AdminPagesConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",  # its files alone
    "evalsvc.accounts.apps.SignInLibraryConfig",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "evalsvc.rest",
    "evalsvc.accounts",
    "evalsvc.judges",
    "evalsvc.catalog",
    "evalsvc.datasets",
    "evalsvc.projects",
    "evalsvc.prompts",
    "evalsvc.telemetry",
    "evalsvc.evaluations",
    "evalsvc.events",
    "evalsvc.annotations",
    "evalsvc.rules",
    "evalsvc.experiments",
    "evalsvc.reviews",
    "evalsvc.comparisons",
    "evalsvc.monitors",
    "evalsvc.gates",
    "evalsvc.benchmarks",
    "evalsvc.openai_evals",
    "evalsvc.reports",
    "evalsvc.guides",
    "evalsvc.console",
    "evalsvc.ops",
]
AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "evalsvc.accounts.signing_in.passwords.DistinctCharactersValidator"},
]
# The library of sign-in (ADR 86). Attempts are counted by evalsvc.accounts.access.signin, for all processes together.
ACCOUNT_ADAPTER = "evalsvc.accounts.signing_in.library.SignInAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = False
ACCOUNT_LOGIN_TIMEOUT = 600
MFA_ADAPTER = "evalsvc.accounts.signing_in.library.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_TOLERANCE = 1  # steps of 30 seconds: clocks of phones differ
MFA_RECOVERY_CODE_DIGITS = 10
SOCIALACCOUNT_ADAPTER = "evalsvc.accounts.signing_in.provider.ProviderAdapter"
MIDDLEWARE = [
    "evalsvc.rest.edge.middleware.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    # Sessions, CSRF and messages serve people's pages; a request to /v1 passes them by.
    "evalsvc.rest.edge.middleware.StaticFilesMiddleware",
    "evalsvc.rest.edge.middleware.PageSessionMiddleware",
    "evalsvc.rest.edge.middleware.PageCommonMiddleware",
    "evalsvc.rest.edge.middleware.PageCsrfMiddleware",
    "evalsvc.accounts.middleware.PersonMiddleware",
    "evalsvc.rest.edge.middleware.PageMessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "evalsvc.accounts.middleware.MemberScopeMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "evalsvc.console.parts.navigation.console_context",
            ]
        },
    }
]
STATIC_URL = "/static/"
STATIC_ROOT = env_str("EVALSVC_STATIC_ROOT", "") or None  # only `collectstatic` for a CDN of your own needs it
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "console_start"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# --- How do we speak? ------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["evalsvc.accounts.access.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["evalsvc.accounts.access.permissions.KeyScopePermission"],
    "DEFAULT_THROTTLE_CLASSES": ["evalsvc.accounts.access.throttling.AccountThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["evalsvc.rest.answering.renderers.OrjsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["evalsvc.rest.bodies.parsers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "evalsvc.rest.answering.renderers.AnyAccept",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "evalsvc.rest.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "evalsvc",
    "VERSION": __version__,
    "DESCRIPTION": "Evaluate what your LLM application says, and know how sure the verdict is.",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/v1",
    # The order of /docs/reference: the most used sections first, then the order of the guides.
    "TAGS": [
        {"name": "evaluations", "description": "Judge samples, and keep, find and delete verdicts."},
        {"name": "history", "description": "The captured scores of one evaluator and profile, and how sure they are."},
        {"name": "evaluation results", "description": "The same evaluations with the inputs that they are of."},
        {"name": "catalog", "description": "Evaluators, and the profiles that you give them."},
        {"name": "connections", "description": "LLMs that are asked for verdicts, and what they may cost."},
        {"name": "webhooks", "description": "The secret of webhooks that judge."},
        {"name": "prompts", "description": "Texts by name, with revisions and labels."},
        {"name": "reviews", "description": "Questions to people about outputs, pairs, evaluations and spans."},
        {"name": "annotations", "description": "What people say about logs, traces, spans and evaluations."},
        {"name": "calibrations", "description": "Thresholds and probabilities from labels."},
        {"name": "experiments", "description": "Many configs over one dataset, with intervals while they run."},
        {"name": "datasets", "description": "Examples, in versions that nothing changes."},
        {
            "name": "comparisons",
            "description": "Which of two outputs is better, for many pairs, and the ranking of it.",
        },
        {"name": "gates", "description": "May a candidate go out: pass, fail or undecided, with the evidence."},
        {"name": "monitors", "description": "Alarms when a pass rate or a mean score changes."},
        {"name": "benchmarks", "description": "A frozen question, asked of one config after another."},
        {"name": "reports", "description": "An experiment as one page, and as one file."},
        {"name": "telemetry", "description": "Spans and logs of OpenTelemetry."},
        {"name": "rules", "description": "Evaluators that score the spans that arrive."},
        {"name": "projects", "description": "Where evaluations and experiments belong."},
        {"name": "events", "description": "What servers of yours are told."},
        {"name": "accounts", "description": "Whose key this is, its settings, and all that it holds."},
    ],
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": ["evalsvc.rest.answering.schema.add_common_answers"],
    # Our authentication is described once for all operations by evalsvc.rest.answering.schema.
    "AUTHENTICATION_WHITELIST": [],
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
}
UNFOLD = {
    "SITE_TITLE": "evalsvc",
    "SITE_HEADER": "evalsvc",
    "SITE_SUBHEADER": "evalsvc.accounts.admin.navigation.subheader",
    "SITE_SYMBOL": "query_stats",
    "SITE_FAVICONS": [{"rel": "icon", "href": "data:,"}],  # none: a browser would request /favicon.ico otherwise
    "SITE_URL": None,
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "ACCOUNT": {"navigation": "evalsvc.accounts.admin.navigation.account_menu"},
    "SIDEBAR": {"navigation": "evalsvc.accounts.admin.navigation.navigation"},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request": {"()": "evalsvc.rest.basics.logs.RequestFilter"}},
    "formatters": {"json": {"()": "evalsvc.rest.basics.logs.JSONFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["request"]}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "evalsvc.access": {"level": "INFO"},  # whatever the level of the others
        "django.request": {"level": "ERROR"},
        "django.server": {"level": "ERROR"},
        # These write headers and bodies of calls at lower levels.
        **{name: {"level": "WARNING"} for name in ("httpx", "httpx2", "httpcore", "httpcore2", "openai")},
    },
}
