// The Dash component SentenceViews: one element, and one Views for as long as the page lives.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const sentence = (headscape.sentence = headscape.sentence || {});
  function SentenceViews({ id, sentence: asked, setProps }) {
    const make = root.React.createElement;
    const host = root.React.useRef(null);
    const views = root.React.useRef(null);
    root.React.useEffect(() => {
      views.current = new sentence.Views(host.current, headscape.loading.create());
      return () => views.current.release();
    }, []);
    root.React.useEffect(() => views.current.update(asked || null, setProps));
    return make("div", { id, ref: host, hidden: !asked, className: "sentence-views" });
  }

  headscape.SentenceViews = SentenceViews;
})(window);
