/* A registry on this machine that has the npm package, and leads to the user's registry for all others. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/** Serves a tarball as the package of its manifest. Resolves to the URL of the registry and a function that closes it. */
export async function servePackage({ tarball, manifest, others }) {
  const { name, version } = manifest;
  const content = readFileSync(tarball);
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
  const path = `/${name}/-/${name}-${version}.tgz`;
  const server = createServer((request, response) => {
    if (request.url === path) return response.end(content);
    if (request.url !== `/${name}`)
      return response.writeHead(302, { location: new URL(request.url, others).href }).end();
    // Registries add the last member when a package is published.
    const published = { ...manifest, dist: { tarball: `${url}${path}`, integrity }, _hasShrinkwrap: true };
    const versions = { [version]: published };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, close: () => server.close() };
}
