"""The database roles: what each may do, and on servers where we are not the master."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors, sql

from evalsvc.local.embedded.roles import ensure_roles, may_create_roles, remedy
from evalsvc.local.embedded.throwaway import Services, throwaway
from evalsvc.local.embedded.urls import DatabaseUrls, RolesRefused, database_name

PASSWORDS = {
    "DATABASE_OWNER_PASSWORD": "owner's /p@ss:word?",
    "DATABASE_APP_PASSWORD": "app-password",
    "DATABASE_SYSTEM_PASSWORD": "system-password",
    "DATABASE_SIGNIN_PASSWORD": "signin-password",
}


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with throwaway() as running:
        yield running


@pytest.fixture(scope="module")
def urls(services: Services) -> DatabaseUrls:
    admin_url = services.postgres.url.replace("/postgres?", "/tenants?")
    made = ensure_roles(admin_url, PASSWORDS)
    with psycopg.connect(made.owner) as connection:
        connection.execute("CREATE TABLE note (id int GENERATED ALWAYS AS IDENTITY, tenant int, body text)")
        connection.execute("ALTER TABLE note ENABLE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY own ON note TO tenants_app USING (tenant = 1)")
        connection.execute("CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS 'SELECT 42'")
        connection.execute("INSERT INTO note (tenant, body) VALUES (1, 'mine'), (2, 'theirs')")
    return made


def administrator(services: Services, database: str = "postgres") -> psycopg.Connection:
    return psycopg.connect(services.postgres.url.replace("/postgres?", f"/{database}?"), autocommit=True)


def test_roles_are_named_after_the_database(urls: DatabaseUrls) -> None:
    with psycopg.connect(urls.app) as connection:
        assert connection.execute("SELECT current_user, current_database()").fetchone() == ("tenants_app", "tenants")


def test_the_application_uses_what_the_owner_makes(urls: DatabaseUrls) -> None:
    with psycopg.connect(urls.app) as connection:
        connection.execute("INSERT INTO note (tenant, body) VALUES (1, 'new')")
        connection.execute("UPDATE note SET body = 'changed' WHERE body = 'new'")
        connection.execute("DELETE FROM note WHERE body = 'changed'")
        assert connection.execute("SELECT answer()").fetchone() == (42,)


def test_row_level_security_binds_the_application(urls: DatabaseUrls) -> None:
    with psycopg.connect(urls.app) as connection:
        assert connection.execute("SELECT body FROM note").fetchall() == [("mine",)]
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("INSERT INTO note (tenant, body) VALUES (2, 'forged')")


def test_the_role_of_sign_in_has_nothing_by_default(urls: DatabaseUrls) -> None:
    with psycopg.connect(urls.signin, autocommit=True) as connection:
        for statement in ("SELECT 1 FROM note", "INSERT INTO note (tenant) VALUES (1)", "SELECT answer()"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(statement)


def test_without_a_policy_of_its_own_the_system_sees_nothing(urls: DatabaseUrls) -> None:
    with psycopg.connect(urls.system) as connection:
        assert connection.execute("SELECT count(*) FROM note").fetchone() == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (n int)",
        "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE note DISABLE ROW LEVEL SECURITY",
        "DROP TABLE note",
        "TRUNCATE note",
        "SET ROLE tenants_owner",
        "CREATE ROLE intruder",
        "ALTER ROLE CURRENT_USER BYPASSRLS",
        "COPY note TO PROGRAM 'true'",
    ],
)
@pytest.mark.parametrize("role", ["app", "system"])
def test_neither_role_can_lift_itself(urls: DatabaseUrls, role: str, statement: str) -> None:
    with psycopg.connect(getattr(urls, role)) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_a_stranger_cannot_connect(services: Services, urls: DatabaseUrls) -> None:
    with administrator(services) as connection:
        connection.execute("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(urls.app.replace("tenants_app:app-password", "stranger:stranger"))


def test_a_wrong_password_is_refused_on_the_socket(urls: DatabaseUrls) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(urls.app.replace("app-password", "guess"))


def test_a_second_run_changes_nothing(services: Services, urls: DatabaseUrls) -> None:
    assert ensure_roles(services.postgres.url.replace("/postgres?", "/tenants?"), PASSWORDS) == urls
    with psycopg.connect(urls.app) as connection:
        assert connection.execute("SELECT body FROM note").fetchall() == [("mine",)]


def test_other_passwords_on_the_server_are_refused(services: Services, urls: DatabaseUrls) -> None:
    other = PASSWORDS | {"DATABASE_OWNER_PASSWORD": "something else"}
    with pytest.raises(RolesRefused, match="not with the password of this EVALSVC_HOME"):
        ensure_roles(services.postgres.url.replace("/postgres?", "/tenants?"), other)


def test_the_embedded_server_takes_new_passwords(services: Services) -> None:
    admin_url = services.postgres.url.replace("/postgres?", "/rotated?")
    ensure_roles(admin_url, PASSWORDS, reset_passwords=True)
    other = PASSWORDS | {"DATABASE_APP_PASSWORD": "new"}
    psycopg.connect(ensure_roles(admin_url, other, reset_passwords=True).app).close()


def test_an_application_role_above_the_wall_is_refused(services: Services) -> None:
    with administrator(services) as connection:
        connection.execute("CREATE ROLE lofty_app LOGIN BYPASSRLS PASSWORD 'app-password'")
    with pytest.raises(RolesRefused, match="BYPASSRLS"):
        ensure_roles(services.postgres.url.replace("/postgres?", "/lofty?"), PASSWORDS)


def test_several_databases_may_share_roles(services: Services) -> None:
    for database in ("first", "second"):
        admin_url = services.postgres.url.replace("/postgres?", f"/{database}?")
        made = ensure_roles(admin_url, PASSWORDS, prefix="shared")
        with psycopg.connect(made.app) as connection:
            assert connection.execute("SELECT current_user, current_database()").fetchone() == ("shared_app", database)


@pytest.fixture
def managed(services: Services) -> str:
    """The administrator that a managed database gives: may create roles and databases, is no superuser."""
    with administrator(services) as connection:
        connection.execute("DROP ROLE IF EXISTS managed")
        connection.execute("CREATE ROLE managed LOGIN CREATEROLE CREATEDB PASSWORD 'managed'")
    return services.postgres.url.replace(f"postgres:{services.postgres.password}@/postgres", "managed:managed@/cloud")


def test_an_administrator_without_superuser_is_enough(services: Services, managed: str) -> None:
    assert may_create_roles(managed)
    for _ in range(2):
        made = ensure_roles(managed, PASSWORDS)
    with psycopg.connect(made.owner) as connection:
        connection.execute("CREATE TABLE t (n int)")
    with psycopg.connect(made.app) as connection:
        connection.execute("SELECT n FROM t")
    with administrator(services) as connection:
        connection.execute("DROP DATABASE cloud")
        connection.execute("DROP OWNED BY managed, cloud_owner, cloud_app, cloud_system")
        connection.execute("DROP ROLE cloud_owner, cloud_app, cloud_system, managed")


def test_a_role_that_may_not_create_roles_is_told_the_sql(services: Services, urls: DatabaseUrls) -> None:
    assert not may_create_roles(urls.app)
    with pytest.raises(RolesRefused, match="CREATE ROLE other_owner LOGIN"):
        ensure_roles(urls.app.replace("/tenants?", "/other?"), PASSWORDS)


def test_the_remedy_is_runnable(services: Services) -> None:
    statements = [line for line in remedy("byhand").splitlines() if line.endswith(";")]
    with administrator(services) as connection:
        for line in statements[:5]:
            connection.execute(line.encode())
    with administrator(services, "byhand") as connection:
        connection.execute(sql.SQL("SET ROLE byhand_owner"))
        for line in statements[5:]:
            connection.execute(line.encode())
    assert len(statements) == 14


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://u@h/evals", "evals"),
        ("postgresql://u@h/postgres", "evalsvc"),
        ("postgresql://u@h", "evalsvc"),
        ("postgresql://u@/?host=/tmp", "evalsvc"),
    ],
)
def test_the_database_is_the_one_in_the_url(url: str, name: str) -> None:
    assert database_name(url) == name
