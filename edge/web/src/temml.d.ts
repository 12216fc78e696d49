/** The library without its extension for chemistry; it has types for the whole alone. */
declare module 'temml/temml.js' {
  interface Options {
    displayMode: boolean;
    throwOnError: boolean;
    trust: boolean;
    maxExpand: number;
    /** In em, and in pt. */
    maxSize: readonly [number, number];
  }
  const temml: { renderToString(tex: string, options: Options): string };
  export default temml;
}
