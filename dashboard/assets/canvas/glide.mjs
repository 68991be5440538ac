// A camera's way from here to there, drawn over a moment; at once for readers who want no motion.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const MILLISECONDS = 350;
  const ease = (part) => part * part * (3 - 2 * part);
  const isStill = () => root.matchMedia("(prefers-reduced-motion: reduce)").matches;

  function start(panels, target, arrive) {
    if (isStill()) return arrive();
    const [from, begin] = [panels.camera, root.performance.now()];
    const step = (now) => {
      const part = Math.max(0, Math.min(1, (now - begin) / MILLISECONDS));
      if (part === 1) return (panels.gaze.gliding = 0), arrive();
      panels.gaze.look(headscape.camera.between(from, target, ease(part)));
      panels.gaze.gliding = root.requestAnimationFrame(step);
    };
    panels.gaze.gliding = root.requestAnimationFrame(step);
  }

  headscape.glide = { start, ease };
})(window);
