// A file for the reader, made in the browser.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  /** What is shown, and what it is of: the end of a name that all files of a store share. */
  const name = ([title, stem], ending) => `${[slug(title).slice(0, 80), stem].filter(Boolean).join("-")}.${ending}`;

  function save(blob, named, ending) {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name(named, ending) });
    link.click();
    root.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const saveText = (text, type, named, ending) => save(new Blob([text], { type }), named, ending);
  const savePicture = (canvas, named) => canvas.toBlob((blob) => save(blob, named, "png"), "image/png");

  sentence.file = { name, saveText, savePicture };
})(window);
