/** The version of the runtime whose function table is used; `package.json` pins it. */
export const runtimeVersion = '1.30.0';
