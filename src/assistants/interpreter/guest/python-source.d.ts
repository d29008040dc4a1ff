declare module '*.py' {
  const source: string;
  export default source;
}
declare module '*.pl' {
  const text: string;
  export default text;
}
