// Shows the API's description with forms to try it.
"use strict";

const page = document.getElementById("swagger-ui");

SwaggerUIBundle({
    url: page.dataset.description,
    domNode: page,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
});
