// A file for the reader, made in the browser.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  const name = (title, ending) => `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80) || "headscape"}.${ending}`;

  function save(blob, title, ending) {
    const link = sentence.make("a", { href: URL.createObjectURL(blob), download: name(title, ending) });
    link.click();
    root.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const saveText = (text, type, title, ending) => save(new Blob([text], { type }), title, ending);
  const savePicture = (canvas, title) => canvas.toBlob((blob) => save(blob, title, "png"), "image/png");

  sentence.file = { name, saveText, savePicture };
})(window);
