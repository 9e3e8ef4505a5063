/*
 * What the npm package may contain, and must. `npm run package` refuses to pack anything else, and a test of
 * test/architecture asks the same of the list in package.json.
 */

/** 10.5 MB of these are the weights of the image model pictogram, which no registry has. */
export const maxTarballBytes = 15_000_000;

const allowed = [
  /^(package\.json|npm-shrinkwrap\.json|README\.md|LICENSE|NOTICE|CHANGELOG\.md)$/,
  /^bin\/[\w-]+\.mjs$/,
  /^dist\/\.built$/,
  /^dist\/(apps|libs)\/.*\.js$/,
  /^dist\/vendor\/prisma-client\/([\w.-]+\.(mjs|wasm)|LICENSE)$/,
  /^dist\/vendor\/packages\/([\w-]+\.js|LICENSES\.txt)$/,
  /^dist\/console\/(index\.html|assets\/[\w-]+\.(js|css|svg))$/,
  /^models\//,
  /^prisma\/migrations\//,
];

const forbidden = [
  [/\.(spec|int-spec|e2e-spec|models-spec|fault-spec|hosts-spec)\.|\.conformance\.|__fixtures__|(^|\/)fake-/, 'a test'],
  [/\.map$/, 'a source map'],
  [/\.tsx?$/, 'a source'],
  [/\.(png|jpe?g|webp|gif)$|^(?!dist\/console\/).*\.svg$/, 'an image'],
  [/\.(env|key|pem)$|(^|\/)\.npmrc$/, 'a secret'],
];

/** A package without one of these does not start. */
const required = [
  'npm-shrinkwrap.json',
  'bin/sluice.mjs',
  'bin/require-node.mjs',
  'bin/trim-runtime.mjs',
  'dist/.built',
  ...['api', 'cli', 'local', 'ops', 'worker'].map((app) => `dist/apps/${app}/src/main.js`),
  'dist/libs/platform/src/prisma/generated/client.js',
  'dist/libs/inference/src/host/model-host.main.js',
  'dist/console/index.html',
  'models/pictogram.yaml',
  'models/pictogram/unet/model.onnx',
  'LICENSE',
];

/** Whether a file is made when the package is, and not tracked. */
const isMade = (path) => path.startsWith('dist/') || path === 'npm-shrinkwrap.json';

/** Offences of a list of paths of the package, one line each. `isBuilt: false`: files that are made are not expected. */
export function offencesOf(paths, { isBuilt = true } = {}) {
  const known = new Set(paths);
  const unexpected = paths.filter((path) => !allowed.some((pattern) => pattern.test(path)));
  const wrong = paths.flatMap((path) =>
    forbidden.filter(([pattern]) => pattern.test(path)).map(([, kind]) => `${path} is ${kind}.`),
  );
  const missing = required.filter((path) => !known.has(path) && (isBuilt || !isMade(path)));
  return [
    ...unexpected.map((path) => `${path} does not belong into the package.`),
    ...wrong,
    ...missing.map((path) => `${path} is missing.`),
  ];
}
