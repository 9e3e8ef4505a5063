/** The parts of @npmcli/config that are used here; the package carries no types. */
declare module '@npmcli/config' {
  export default class Config {
    constructor(options: {
      definitions: object;
      shorthands: object;
      flatten: object;
      npmPath: string;
      argv?: string[];
      cwd?: string;
      warn?: boolean;
    });
    load(): Promise<void>;
    /** Options as pacote and npm-registry-fetch take them. */
    readonly flat: Record<string, unknown>;
  }
}

declare module '@npmcli/config/lib/definitions/index.js' {
  export const definitions: object;
  export const shorthands: object;
  export const flatten: object;
}
