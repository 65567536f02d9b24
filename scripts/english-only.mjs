// Leaves out the messages of zod in other languages, which nothing uses: 60 modules that every command would load.

/** For rolldown. */
export const englishOnly = {
  name: 'english-only',
  resolveId: (id, importer) => (id === '../locales/index.js' && /\/zod\/v4\//.test(importer ?? '') ? '\0zod-locales' : null),
  load: (id) => (id === '\0zod-locales' ? 'export {};' : null),
};
