// What moves on the admin's pages. Runs after htmx has come and before htmx starts.
"use strict";

htmx.config.allowEval = false; // our pages hand it no code
htmx.config.includeIndicatorStyles = false; // a style element, for indicators that no page has

const LIVE = "[data-live]";
const pathOf = (address) => new URL(address, location.href).pathname;

// While nobody looks, a live part rests. Under a pointer or the focus too: replacing the button would lose the press.
document.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.target;
    if (part.matches(LIVE) && (document.hidden || part.querySelector("button:hover, a:hover, :focus"))) {
        event.preventDefault();
    }
});

// Whoever has been signed out meanwhile is led to another page, which is no part of this one.
document.addEventListener("htmx:beforeSwap", (event) => {
    const part = event.target;
    if (part.matches(LIVE) && pathOf(event.detail.xhr.responseURL) !== pathOf(part.getAttribute("hx-get"))) {
        event.detail.shouldSwap = false;
        location.reload();
    }
});

// Reloading the answer to a form would send the form again: from now on the page has another address.
document.addEventListener("DOMContentLoaded", () => {
    const shown = document.querySelector("[data-address]");
    if (shown) {
        history.replaceState(null, "", shown.dataset.address);
    }
});
