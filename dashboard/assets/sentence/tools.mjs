// What is shown as a file: a picture, a drawing, or a page that works alone.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const make = (...given) => sentence.make(...given);

  const SMALL = 11;

  /** With a line below it that says what it is of. */
  function withSource(picture, { source }, ink) {
    const width = Math.max(picture.width, 40 + sentence.canvas.measure(source, SMALL));
    const line = { text: source, at: [20, picture.height + 4], colour: ink, size: SMALL };
    return { ...picture, source, width, height: picture.height + 24, shapes: [...picture.shapes, line] };
  }

  function create(views, { offline }) {
    const name = () => [views.shown.title, views.shown.stem];
    const picture = () => withSource(views.view.picture(), views.shown, views.palette.ink);
    const png = button("PNG", () => sentence.file.savePicture(sentence.canvas.show(document.createElement("canvas"), picture(), 2), name()));
    const svg = button("SVG", () => sentence.file.saveText(sentence.svg.write(picture()), "image/svg+xml", name(), "svg"));
    const html = button("HTML", async () => sentence.file.saveText(await sentence.standalone(views), "text/html", name(), "html"));
    views.tools.replaceChildren(png, svg, ...(offline ? [] : [html]));

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
