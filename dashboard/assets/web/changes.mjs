// Compares two states of a page: the changed properties, where the components and their places are the same.

const same = (item, other) => JSON.stringify(item) === JSON.stringify(other);
const isComponent = (node) => Boolean(node?.props && node.type);
const isText = (children) => typeof children === "string" || typeof children === "number";
/**
 * What a reader or the picture changes without asking: it may stand at something else than what the page was given
 * last.
 */
const OWN = ["value", "checked", "children"];

/** The properties of a component without its children; a text inside a component with an id is a property. */
const properties = ({ props: { children, ...own } }) =>
  own.id !== undefined && isText(children) ? { ...own, children } : own;

function ofProperties(before, after, now) {
  const [was, is] = [properties(before), properties(after)];
  if (Object.keys(was).some((name) => !(name in is))) return null;
  const standing = after.props.id === undefined ? was : { ...was, ...now(after.props.id) };
  const changed = Object.keys(is).filter((name) => !same((OWN.includes(name) ? standing : was)[name], is[name]));
  if (changed.length && after.props.id === undefined) return null;
  return changed.length
    ? [{ id: after.props.id, type: after.type, props: Object.fromEntries(changed.map((name) => [name, is[name]])) }]
    : [];
}

function ofEach(before, after, now) {
  if (before.length !== after.length) return null;
  const every = after.map((item, i) => changes(before[i], item, now));
  return every.includes(null) ? null : every.flat();
}

/**
 * Changes as {id, type, props}; null where components differ. `now(id)` gives the present properties of a component.
 */
export function changes(before, after, now) {
  if (Array.isArray(before) && Array.isArray(after)) return ofEach(before, after, now);
  if (!isComponent(before) || !isComponent(after)) return same(before, after) ? [] : null;
  if (before.type !== after.type || before.namespace !== after.namespace || !same(before.props.id, after.props.id))
    return null;
  if (after.props.id?.later) return null; // it is filled anew for every page
  const own = ofProperties(before, after, now);
  const inner = "children" in properties(after) ? [] : changes(before.props.children, after.props.children, now);
  return own && inner && [...own, ...inner];
}
