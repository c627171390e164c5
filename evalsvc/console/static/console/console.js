// What moves on the console's pages. Without it every page still shows and does all it says.
"use strict";

// Theme: at once, and kept by the same form that works without a script.
document.addEventListener("change", (event) => {
    if (event.target.matches("[data-theme-choice]")) {
        document.documentElement.dataset.theme = event.target.value;
        fetch(event.target.form.action, { method: "POST", body: new FormData(event.target.form), redirect: "manual" });
    }
    if (event.target.matches("[data-submits]")) {
        event.target.form.requestSubmit();
    }
});

// A file that is dropped on a form is the file of its field.
for (const kind of ["dragover", "drop"]) {
    document.addEventListener(kind, (event) => {
        const field = event.target.closest?.("[data-drop]")?.querySelector("input[type=file]");
        if (!field || !event.dataTransfer.types.includes("Files")) {
            return;
        }
        event.preventDefault();
        if (kind === "drop") {
            field.files = event.dataTransfer.files;
            field.focus();
        }
    });
}

// Copy what stands in the same box.
document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) {
        return;
    }
    const text = button.closest(".copied").querySelector("code");
    if (navigator.clipboard) {
        await navigator.clipboard.writeText(text.textContent);
        say(button, "Copied");
    } else {
        // Without https a browser lets no script copy: the text is marked, and a person does it.
        getSelection().selectAllChildren(text);
        say(button, "Marked: copy it by keys");
    }
});

const say = (button, text) => {
    const before = button.dataset.before || button.textContent;
    button.dataset.before = before;
    button.textContent = text;
    setTimeout(() => { button.textContent = before; }, 1500);
};

// On a narrow window the menu and long filters begin folded; on a wide one they have no summary to unfold them by.
const FOLDS = [["details.menu", "(min-width: 60rem)"], ["details.fold:not([data-wrong])", "(min-width: 40rem)"]];
const fold = () => {
    for (const [parts, isWide] of FOLDS) {
        for (const part of document.querySelectorAll(parts)) {
            part.open = matchMedia(isWide).matches;
        }
    }
};
for (const [, isWide] of FOLDS) {
    matchMedia(isWide).addEventListener("change", fold);
}

// Legend: one series in front, the others faint. A second press shows all again.
document.addEventListener("click", (event) => {
    const button = event.target.closest(".legend button");
    if (!button) {
        return;
    }
    const chart = button.closest(".chart");
    const isOn = button.getAttribute("aria-pressed") !== "true";
    for (const other of chart.querySelectorAll(".legend button")) {
        other.setAttribute("aria-pressed", String(other === button && isOn));
    }
    for (const part of chart.querySelectorAll("[data-of]")) {
        part.classList.toggle("faint", isOn && part.dataset.of !== button.dataset.series);
    }
});

// Tooltips: the title of a point, under the pointer and by arrow keys. The browser's own would come a second later.
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;

const showTip = (point) => {
    const title = point.querySelector("title");
    if (title) {
        point.dataset.tip = title.textContent;
        title.remove();
    }
    const box = point.getBoundingClientRect();
    tip.textContent = point.dataset.tip;
    tip.hidden = false;
    const left = Math.min(Math.max(8, box.x + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
    const above = box.y - tip.offsetHeight - 8;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 0 ? above : box.bottom + 8) + scrollY}px`;
    for (const other of document.querySelectorAll(".point.shown")) {
        other.classList.remove("shown");
    }
    point.classList.add("shown");
};

const hideTip = () => {
    tip.hidden = true;
    for (const other of document.querySelectorAll(".point.shown")) {
        other.classList.remove("shown");
    }
};

document.addEventListener("pointerover", (event) => {
    const point = event.target.closest?.(".chart .point");
    if (point) {
        showTip(point);
    } else if (!event.target.closest?.(".tip") && !document.activeElement?.matches(".plot")) {
        hideTip();
    }
});

document.addEventListener("focusout", (event) => {
    if (event.target.matches(".plot")) {
        hideTip();
    }
});

const MOVES = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
        hideTip();
    }
    const plot = event.target.closest(".plot");
    if (plot && event.key in MOVES) {
        const points = [...plot.querySelectorAll(".point")].filter((point) => !point.closest(".faint"));
        if (points.length) {
            const here = points.findIndex((point) => point.classList.contains("shown"));
            const next = Math.min(Math.max(here + MOVES[event.key], 0), points.length - 1);
            showTip(points[next]);
            event.preventDefault();
        }
    }
});

// Tables that are walked through: j and k, or the arrows, between the links of their rows; Enter opens as ever.
document.addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    const table = document.querySelector("[data-walk]");
    const isTyped = event.target.matches("input, textarea, select, [contenteditable]");
    if (!step || !table || isTyped || event.ctrlKey || event.metaKey || event.altKey) {
        return;
    }
    const isArrow = event.key.startsWith("Arrow");
    if (isArrow && !table.contains(event.target)) {
        return;
    }
    const links = [...table.querySelectorAll("tbody th a")];
    const here = links.indexOf(document.activeElement);
    const next = links[Math.min(Math.max(here + step, 0), links.length - 1)];
    if (next) {
        next.focus();
        event.preventDefault();
    }
});

// A live part rests while nobody looks, and under the pointer: a swap would lose the press. Under the focus it moves on if
// the focus can be put back, which takes an id.
document.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.target;
    const held = "button:hover, a:hover, :focus:not([id])";
    if (part.matches("[data-live]") && (document.hidden || part.querySelector(held))) {
        event.preventDefault();
    }
});

let focused = "";
document.addEventListener("htmx:beforeSwap", (event) => {
    const isIn = event.target.matches("[data-live]") && event.target.contains(document.activeElement);
    focused = isIn ? document.activeElement.id : "";
});
document.addEventListener("htmx:afterSwap", () => {
    if (focused) {
        document.getElementById(focused)?.focus({ preventScroll: true });
    }
});

// A lost connection is said, and its end too. Whoever was signed out meanwhile is led to the sign-in page.
const announce = (text) => {
    const place = document.getElementById("connection") || document.createElement("p");
    place.id = "connection";
    place.className = "message warning";
    place.textContent = text;
    place.hidden = !text;
    document.getElementById("messages")?.append(place);
};
document.addEventListener("htmx:sendError", () => announce("The connection is lost. The page shows what it last heard, and tries again."));
document.addEventListener("htmx:responseError", () => announce("The service did not answer as it should. The page tries again."));
document.addEventListener("htmx:afterOnLoad", () => announce(""));
document.addEventListener("htmx:beforeSwap", (event) => {
    const answered = new URL(event.detail.xhr.responseURL || location.href, location.href).pathname;
    if (answered.startsWith("/console/sign-in")) {
        event.detail.shouldSwap = false;
        location.reload();
    }
});

// What was typed outlives a session that has ended: this tab keeps a form that was sent until a page answers, and fills it
// again where the answer was the sign-in page. Nothing secret is kept, and nothing for another account's form.
const DRAFT = "draft";
const isKept = (field) => field.name && !["hidden", "password", "file", "submit"].includes(field.type) && field.name !== "headers";
document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method === "post" && form.elements._account) {
        const fields = [...form.elements].filter(isKept).map((one) => [one.name, one.value, Boolean(one.checked)]);
        const at = location.pathname + location.search;
        sessionStorage.setItem(DRAFT, JSON.stringify({ at, account: form.elements._account.value, fields }));
    }
});

const takeDraft = () => {
    const draft = JSON.parse(sessionStorage.getItem(DRAFT) || "null");
    const isOut = /^\/console\/(sign-in|accounts)/.test(location.pathname);
    sessionStorage.removeItem(DRAFT);
    if (draft && isOut) {
        sessionStorage.setItem(DRAFT, JSON.stringify({ ...draft, waits: true }));
    } else if (draft?.waits && draft.at === location.pathname + location.search) {
        fillAgain(draft);
    } else if (draft?.waits && !draft.led) {
        sessionStorage.setItem(DRAFT, JSON.stringify({ ...draft, led: true }));
        location.replace(draft.at);
    }
};

const fillAgain = ({ account, fields }) => {
    const names = new Set(fields.map(([name]) => name));
    const form = [...document.forms].find((one) => one.elements._account?.value === account && [...one.elements].some((field) => names.has(field.name)));
    for (const field of [...(form?.elements || [])].filter(isKept)) {
        const isBox = ["checkbox", "radio"].includes(field.type);
        const typed = fields.find(([name, value]) => name === field.name && (!isBox || value === field.value));
        if (typed && isBox) {
            field.checked = typed[2];
        } else if (typed) {
            field.value = typed[1];
        }
    }
    if (form) {
        announce("What you had typed is in the form again. Nothing is saved yet: send it.");
    }
};

// The pager of a partial keeps the place of the focus.
document.addEventListener("DOMContentLoaded", () => {
    document.body.append(tip);
    document.documentElement.dataset.script = "on";
    fold();
    takeDraft();
    // Reloading the answer to a form would send the form again: from now on the page has another address.
    const shown = document.querySelector("[data-address]");
    if (shown) {
        history.replaceState(null, "", shown.dataset.address);
    }
});
