// A camera's way from here to there, drawn over a moment; at once for readers who want no motion.
(function (root) {
  const headscape = (root.headscape = root.headscape || {});
  const MILLISECONDS = 350;
  const ease = (part) => part * part * (3 - 2 * part);
  const isStill = () => root.matchMedia("(prefers-reduced-motion: reduce)").matches;

  function start(panels, target, then) {
    if (isStill()) return panels.gaze.look(target), then();
    const [from, begin] = [panels.camera, root.performance.now()];
    const step = (now) => {
      const part = Math.max(0, Math.min(1, (now - begin) / MILLISECONDS));
      panels.gaze.look(part < 1 ? headscape.camera.between(from, target, ease(part)) : target);
      panels.gaze.gliding = part < 1 ? root.requestAnimationFrame(step) : 0;
      if (!panels.gaze.gliding) then();
    };
    panels.gaze.gliding = root.requestAnimationFrame(step);
  }

  headscape.glide = { start, ease };
})(window);
