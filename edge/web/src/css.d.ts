/** The build gives the text of a style sheet to the module that imports it. */
declare module '*.css' {
  const text: string;
  export default text;
}
