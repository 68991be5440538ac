// What of a page differs from the page before: components whose properties changed, or that it is another page.

/** @param {unknown} item @param {unknown} other */
export const same = (item, other) => JSON.stringify(item) === JSON.stringify(other);
/** @param {any} node */
const isComponent = (node) => Boolean(node?.props && node.type);
/** @param {unknown} children */
const isText = (children) => typeof children === "string" || typeof children === "number";
/**
 * What a reader or the picture changes without asking: it may stand at something else than what the page was given
 * last.
 */
const OWN = ["value", "checked", "children"];

/**
 * The properties of a component without its children; a text inside a component with an id is a property.
 * @param {Component} component
 */
const ownProperties = ({ props: { children, ...own } }) =>
  own.id !== undefined && isText(children) ? { ...own, children } : own;

/** @param {Component} before @param {Component} after @param {Current} current */
function ofProperties(before, after, current) {
  const [was, is] = [ownProperties(before), ownProperties(after)];
  if (Object.keys(was).some((name) => !(name in is))) return null;
  const present = after.props.id === undefined ? was : { ...was, ...current(after.props.id) };
  const changed = Object.keys(is).filter((name) => !same((OWN.includes(name) ? present : was)[name], is[name]));
  if (changed.length && after.props.id === undefined) return null;
  return changed.length
    ? [{ id: after.props.id, type: after.type, props: Object.fromEntries(changed.map((name) => [name, is[name]])) }]
    : [];
}

/**
 * The id of what a page waits for in a component, as dashboard/ui/deferred.py names it; undefined without any.
 * @param {any} node
 * @returns {any}
 */
export function waitOf(node) {
  if (Array.isArray(node)) return node.map(waitOf).find(Boolean);
  if (!isComponent(node)) return undefined;
  return node.props.id?.is === "content" ? node.props.id : waitOf(node.props.children);
}

/**
 * A deferred part is replaced where it was not there yet, or is not there now: the rest of the page stays.
 * @param {Component} component
 */
const refilled = ({ type, props: { id, children } }) => [{ id, type, props: { children } }];

/** @param {unknown[]} before @param {unknown[]} after @param {Current} current @returns {Change[] | null} */
function ofEach(before, after, current) {
  if (before.length !== after.length) return null;
  const every = after.map((item, i) => changes(before[i], item, current));
  return every.includes(null) ? null : every.flat();
}

/**
 * Changes as {id, type, props}; null where components differ. `current(id)` gives the present properties of a
 * component.
 * @param {any} before @param {any} after @param {Current} current
 * @returns {Change[] | null}
 */
export function changes(before, after, current) {
  if (Array.isArray(before) && Array.isArray(after)) return ofEach(before, after, current);
  if (!isComponent(before) || !isComponent(after)) return same(before, after) ? [] : null;
  if (before.type !== after.type || before.namespace !== after.namespace || !same(before.props.id, after.props.id))
    return null;
  if (after.props.id?.place && [before, after].some(waitOf)) return refilled(after);
  const own = ofProperties(before, after, current);
  const inner = "children" in ownProperties(after) ? [] : changes(before.props.children, after.props.children, current);
  return own && inner && [...own, ...inner];
}
