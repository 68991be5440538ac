// What dash, React and plotly put into the window, and that the elements of our pages are HTML.

interface Dash {
  no_update: any;
  callback_context: { triggered: { prop_id: string; value: any }[] };
  set_props(id: ComponentId, props: Record<string, unknown>): void;
}

/** What a component of React makes. */
type ReactNode = unknown;

interface Window {
  React: {
    Fragment: unknown;
    createElement(type: unknown, props: object | null, ...children: ReactNode[]): ReactNode;
    useEffect(effect: () => unknown, depends?: unknown[]): void;
    useRef<T>(initial: T): { current: T };
    useState<T>(initial: T): [T, (value: T) => void];
  };
  dash_clientside: Dash;
  dash_component_api: { getLayout(id: ComponentId): { props: Record<string, any> } | undefined };
  dash_core_components: { Graph: unknown };
  /** Where Dash fetches plotly from once there is a chart. */
  _dashPlotlyJSURL?: string;
  Plotly: {
    downloadImage(figure: Figure, options: Record<string, unknown>): Promise<string>;
    restyle(chart: unknown, changes: Record<string, unknown[]>): Promise<unknown>;
  };
  headscape: Record<string, unknown>;
  firstPage?: FirstPage;
}

interface Figure {
  data: unknown;
  layout: Record<string, any>;
}

/** The target of an event: an element, or the document, which is no element. */
interface EventTarget {
  closest?(selectors: string): HTMLElement | null;
  matches?(selectors: string): boolean;
}

interface Element {
  closest(selectors: string): HTMLElement | null;
}

interface ParentNode {
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
