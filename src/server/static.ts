// Files of the built dashboard. They contain no data, so they need no token.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'hono';
import { HttpFailure } from './errors.ts';

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};
const compressible = /^(text|application)\/|\+xml/;
/** Vite puts a hash of the content into the names of these files. */
const hashed = /^\/assets\/.*-[\w-]{8,}\.\w+$/;

interface StaticFile {
  content: Buffer<ArrayBuffer>;
  gzipped: Buffer<ArrayBuffer> | null;
  etag: string;
  type: string;
}

export type ServeStatic = (context: Context) => Promise<Response>;

/** A path without a dot is a page of the dashboard, which all have the same file. */
export function createStatic(folder: string): ServeStatic {
  const known = new Map<string, StaticFile>();

  return async (context) => {
    const { path } = context.req;
    const name = path.slice(path.lastIndexOf('/') + 1).includes('.') ? path : '/index.html';
    const file = await load(name, folder, known);
    if (file === null) {
      if (name === '/index.html') return context.html(missingPage, 503);
      throw new HttpFailure('not_found', `there is no file ${path}`);
    }
    const headers: Record<string, string> = {
      'Content-Type': file.type,
      'Cache-Control': hashed.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      ETag: file.etag,
      Vary: 'Accept-Encoding',
    };
    if (context.req.header('if-none-match') === file.etag) return context.body(null, 304, headers);
    const acceptsGzip = /\bgzip\b/.test(context.req.header('accept-encoding') ?? '');
    if (file.gzipped === null || !acceptsGzip) return context.body(file.content, 200, headers);
    return context.body(file.gzipped, 200, { ...headers, 'Content-Encoding': 'gzip' });
  };
}

async function load(name: string, folder: string, known: Map<string, StaticFile>): Promise<StaticFile | null> {
  const path = safePath(name);
  const type = path === null ? undefined : types[extname(path)];
  if (path === null || type === undefined) return null;
  const content = await readFile(join(folder, path)).catch(() => null);
  if (content === null) return null;
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
  const cached = known.get(path);
  if (cached?.etag === etag) return cached;
  const file = { content, etag, type, gzipped: compressible.test(type) ? await promisify(gzip)(content) : null };
  known.set(path, file);
  return file;
}

/** The path below the folder; null if it leaves the folder or names a hidden file. */
function safePath(name: string): string | null {
  try {
    const path = normalize(decodeURIComponent(name));
    return path.includes('\0') || path.includes('\\') || /(^|\/)\./.test(path) ? null : path;
  } catch {
    return null;
  }
}

const missingPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Retinue</title>
<h1>The dashboard is not built</h1>
<p>The server works: its API is described at <code>/openapi.json</code>, and <code>retinue top</code> shows the same runs in a terminal.</p>
<p>To build the dashboard, run <code>npm run build</code> in the folder of Retinue and reload this page.</p>
</html>
`;
