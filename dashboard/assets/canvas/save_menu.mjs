// What opens at the button Save: how wide the file is to be, and a button for each kind of file.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  /** Widths in pixels beside that on the page. */
  const WIDTHS = [2000, 4000];

  /** The menu of a button beside the picture; it closes with Escape and with a click beside it. */
  function create(panels, button) {
    const { make } = headscape.sentence;
    const asOnPage = make("option", { value: "" });
    const width = make("select", {}, asOnPage, ...WIDTHS.map((pixels) => make("option", { value: pixels, textContent: `${pixels.toLocaleString("en")} pixels` })));
    const menu = make("div", { className: "save-menu", popover: "auto" }, make("label", {}, "Width ", width), kind("png"), kind("svg"));
    panels.on(menu, "toggle", ({ newState }) => newState === "open" && width.focus());

    function kind(form) {
      const made = make("button", { type: "button", textContent: `Save ${form.toUpperCase()}` });
      panels.on(made, "click", () => act(form));
      return made;
    }

    function act(form) {
      menu.hidePopover();
      headscape.saved.save(panels, form, Number(width.value));
    }

    function open() {
      const { width: pixels } = headscape.saved.sheetOf(panels);
      asOnPage.textContent = `as here, ${Math.round(pixels * panels.scale).toLocaleString("en")} pixels`;
      menu.togglePopover();
      const [{ right, top }, { width: wide, height }] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
      Object.assign(menu.style, { left: `${Math.max(8, Math.min(right - wide, root.innerWidth - wide - 8))}px`, top: `${Math.max(8, top - height - 8)}px` });
    }

    panels.on(button, "click", open);
    return menu;
  }

  headscape.saveMenu = { create };
})(window);
