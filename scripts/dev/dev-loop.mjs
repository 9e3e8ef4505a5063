import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openTranslator } from '../build.mjs';
import { modulesOf } from './module-graph.mjs';
import { removeBuilt, watchSources } from './source-watch.mjs';

const services = ['api', 'worker', 'ops'];
const mainOf = (app) => `apps/${app}/src/main.ts`;

/**
 * Translates changed sources of `root` and calls `restart` with the services that use them. `say` gets one line for each
 * change. Resolves to a function that ends it.
 */
export async function watchAndRestart({ root, restart, say }) {
  const translate = await openTranslator(root);
  let graphs = readGraphs(root);

  const onChange = (paths) => {
    const errors = paths.flatMap((path) => {
      if (existsSync(join(root, path))) return translate(path).map((error) => `${path}: ${error}`);
      removeBuilt(root, path);
      return [];
    });
    if (errors.length > 0) {
      for (const error of errors) say(`${error} Nothing restarts until this is fixed.`);
      return;
    }
    // A service is affected by what it used and by what it uses now.
    const before = graphs;
    graphs = readGraphs(root);
    const isUsed = (name) => paths.some((path) => before.get(name).has(path) || graphs.get(name).has(path));
    const affected = services.filter(isUsed);
    const what = paths.length === 1 ? paths[0] : `${paths.length} files`;
    if (affected.length > 0) {
      say(`${what} changed: restarting ${affected.join(', ')}`);
      restart(affected);
    }
    if (isUsed('local')) say(`${what} changed, which npm run dev itself uses: start it again to use it.`);
    else if (affected.length === 0) say(`${what} changed: no service uses it`);
  };
  return watchSources({ root, folders: ['apps', 'libs'], onChange });
}

function readGraphs(root) {
  return new Map([...services, 'local'].map((app) => [app, modulesOf(root, mainOf(app))]));
}
