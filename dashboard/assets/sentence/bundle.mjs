// Bundles a module and all that it imports into one script: a page that is opened from a file can import nothing.
// Two forms are read: `import { a, b as c } from "./x.mjs";` and `export` before a declaration.
const IMPORT = /^import \{([^}]*)\} from "([^"]+)";$/gm;
const EXPORT = /^export (?=(?:async )?(?:function\*?|const|class) (\w+))/gm;
const OTHER = /^(?:import|export)\b.*/m;

const isRelative = (specifier) => /^\.{1,2}\//.test(specifier);

/** URLs of the modules that a text imports, as the page's import map has them. */
function importsOf(text, url, resolve) {
  return [...text.matchAll(IMPORT)].map(([, , specifier]) => {
    if (!isRelative(specifier)) throw new Error(`${url} imports ${specifier}, which is not one of our modules.`);
    return resolve(new URL(specifier, url).href);
  });
}

/** All modules by URL, each after those that it imports. */
async function collect(url, read, resolve, modules = new Map()) {
  const text = await read(url);
  const imports = importsOf(text, url, resolve);
  for (const imported of imports) if (!modules.has(imported)) await collect(imported, read, resolve, modules);
  modules.set(url, { text, imports });
  return modules;
}

/** A module as a function of its own that returns its exports, so that no names meet. */
function asFunction({ text, imports }, names) {
  const sources = imports.map((url) => names.get(url));
  const exported = [...text.matchAll(EXPORT)].map(([, name]) => name);
  const body = text
    .replace(IMPORT, (_, list) => `const {${list.replaceAll(" as ", ": ")}} = ${sources.shift()};`)
    .replace(EXPORT, "");
  const [unread] = body.match(OTHER) || [];
  if (unread) throw new Error(`This form cannot be bundled: ${unread}`);
  return `(() => {\n${body}\nreturn { ${exported.join(", ")} };\n})()`;
}

/** The text of the script. `read` gives the text of a URL, `resolve` the dated address of a module. */
export async function bundle(entry, read, resolve = import.meta.resolve) {
  const modules = await collect(entry, read, resolve);
  const names = new Map([...modules.keys()].map((url, i) => [url, `module${i}`]));
  return [...modules].map(([url, module]) => `const ${names.get(url)} = ${asFunction(module, names)};`).join("\n");
}
