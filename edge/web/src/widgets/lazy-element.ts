/** An element whose code is loaded when one is on a page. */

export interface Widget {
  /** An attribute, or the token, has changed. */
  update(): void;
  stop(): void;
}

export interface WidgetHost extends HTMLElement {
  /** The token of a member of the host page. */
  token: string | null;
}

/** What the script of an element exports. `server` is the one of an element that names none. */
export interface WidgetScript {
  start(element: WidgetHost, server: string): Widget;
}

/** While `load` fails, the element shows what is in it. */
export function defineLazily(
  name: string,
  observed: readonly string[],
  load: () => Promise<WidgetScript>,
  server: () => string,
): void {
  customElements.define(
    name,
    class extends HTMLElement implements WidgetHost {
      static readonly observedAttributes = observed;
      #widget: Widget | null = null;
      #token: string | null = null;

      connectedCallback(): void {
        // A property that was set before the element was defined hides the accessor.
        if (Object.hasOwn(this, 'token')) {
          const { token } = this;
          Reflect.deleteProperty(this, 'token');
          this.token = token;
        }
        load().then(
          ({ start }) => {
            if (this.isConnected) this.#widget ??= start(this, server());
          },
          () => undefined,
        );
      }

      disconnectedCallback(): void {
        this.#widget?.stop();
        this.#widget = null;
      }

      attributeChangedCallback(): void {
        this.#widget?.update();
      }

      get token(): string | null {
        return this.#token || this.getAttribute('token');
      }

      set token(value: string | null) {
        this.#token = value;
        this.#widget?.update();
      }
    },
  );
}
