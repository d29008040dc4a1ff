/** The package brings no types; this is what the tests use of it. */
declare module 'oidc-provider' {
  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (...parts: unknown[]) => unknown;
  }
}
