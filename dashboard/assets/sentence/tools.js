// What is shown as a file: a picture, a drawing, or a page that works alone.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);

  function create(views, { offline }) {
    const png = button("PNG", () => sentence.file.savePicture(picture(), views.shown.title));
    const svg = button("SVG", () => sentence.file.saveText(sentence.svg.write(views.view.picture()), "image/svg+xml", views.shown.title, "svg"));
    const html = button("HTML", async () => sentence.file.saveText(await sentence.standalone(views), "text/html", views.shown.title, "html"));
    views.tools.replaceChildren(png, svg, ...(offline ? [] : [html]));

    function picture() {
      return views.view.sheet?.() || sentence.canvas.show(document.createElement("canvas"), views.view.picture(), 2);
    }

    function button(kind, act) {
      const made = make("button", { type: "button", textContent: `Save ${kind}` });
      made.addEventListener("click", () => views.trying(act));
      return made;
    }

    /** Only what the view can give. */
    function renew() {
      png.hidden = svg.hidden = !views.view || !views.shown.data;
      html.hidden = views.shown?.show !== "head";
    }

    return { renew };
  }

  sentence.tools = { create };
})(window);
