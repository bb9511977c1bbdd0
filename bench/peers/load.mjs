// Imports a package from this folder's node_modules, which no file outside of it would find.
export const load = (name) => import(name)
