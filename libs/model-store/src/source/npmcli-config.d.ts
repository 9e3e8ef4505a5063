/** The parts of @npmcli/config used here; the package has no types. */
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
    /** Options in the format of pacote and npm-registry-fetch. */
    readonly flat: Record<string, unknown>;
  }
}

declare module '@npmcli/config/lib/definitions/index.js' {
  export const definitions: object;
  export const shorthands: object;
  export const flatten: object;
}
