// What the page says of its picture, read where it stands, so that a file that leaves the page says the same.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const SAID = ".of-picture";
  /** What is of use on the page alone. */
  const LEFT_OUT = "a, button, .on-page";

  const style = (element) => root.getComputedStyle(element);
  const words = (text, colour) => text.split(/\s+/).filter(Boolean).map((word) => ({ word, colour }));
  const stops = (bar) => style(bar).backgroundImage.match(/rgba?\([^)]*\)/g) || [];

  /** Words, swatches and ramps of an entry of a legend, in order and in the colours that they have now. */
  function pieces(node) {
    if (node.nodeType === Node.TEXT_NODE) return words(node.data, style(node.parentElement).color);
    if (node.matches(".swatch")) return [{ colours: [style(node).backgroundColor], width: node.offsetWidth }];
    if (node.matches(".bar")) return [{ colours: stops(node), width: node.offsetWidth }];
    return [...node.childNodes].flatMap(pieces);
  }

  /** Text is broken between any words. */
  const line = (text, colour, strong) => ({ groups: words(text, colour).map((word) => [word]), strong });

  /** Of a legend every entry stays on one line where it can. */
  function paragraph(element) {
    if (element.matches(".legend")) return { groups: [...element.childNodes].map(pieces), apart: true };
    const kept = element.cloneNode(true);
    for (const one of kept.querySelectorAll(LEFT_OUT)) one.remove();
    return line(kept.textContent, style(element).color);
  }

  /** Paragraphs: what is shown, where it is from, what colours mean, how many of how many, how far it can be trusted. */
  function of({ picture, player, layer, palette }) {
    const { source, notes } = picture.file;
    const above = [source, ...notes, layer.focused && picture.focus_caption].filter(Boolean);
    const said = [...document.querySelectorAll(SAID)].map(paragraph).filter(({ groups }) => groups.flat().length);
    return [line(player.label() || picture.label, palette.ink, true), ...above.map((text) => line(text, palette.ink)), ...said];
  }

  headscape.told = { of };
})(window);
