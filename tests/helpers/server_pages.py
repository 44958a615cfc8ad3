"""The pages of a server over HTTP, asked with a cookie or by a browser that has signed in."""

from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, Page

from helpers.http_servers import HttpAnswer
from helpers.tenants import TenantServer, create_token


def get_pages_url(house: TenantServer) -> str:
    """Where the pages are."""
    return f"http://127.0.0.1:{house.served.port}"


def create_secret(
    house: TenantServer, *projects: str, scopes: tuple[str, ...] = ("run:read", "run:write")
) -> str:
    """A new token for somebody."""
    return str(create_token(house.at, "eve", *projects, scopes=scopes)["secret"])


def open_signed_in_page(context: BrowserContext, house: TenantServer, shown: str) -> Page:
    """A page of somebody who has shown this token."""
    page = context.new_page()
    page.goto(get_pages_url(house))
    page.get_by_label("Token").fill(shown)
    page.get_by_role("button", name="Enter").click()
    return page


def request_page(
    house: TenantServer, method: str, path: str, cookie: str = "", body: bytes = b""
) -> HttpAnswer:
    """What a page of the server is answered with."""
    host = f"127.0.0.1:{house.served.port}"
    headers = {"Host": host, "Origin": f"http://{host}", "Content-Length": str(len(body))}
    return house.served.ask(method, path, {**headers, **({"Cookie": cookie} if cookie else {})}, body)


def get_cookie(house: TenantServer, shown: str) -> str:
    """What the browser of somebody with this token sends."""
    answered = request_page(house, "POST", "/login", body=urlencode({"token": shown}).encode())
    assert answered.status == 303, answered.text
    return answered.headers["set-cookie"].partition(";")[0]
