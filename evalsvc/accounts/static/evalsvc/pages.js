// What moves on the admin's pages. Runs after htmx has come and before htmx starts.
"use strict";

htmx.config.allowEval = false; // our pages hand it no code
htmx.config.includeIndicatorStyles = false; // a style element, for indicators that no page has

// Reloading the answer to a form would send the form again: from now on the page has another address.
document.addEventListener("DOMContentLoaded", () => {
    const shown = document.querySelector("[data-address]");
    if (shown) {
        history.replaceState(null, "", shown.dataset.address);
    }
});
