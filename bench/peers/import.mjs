/** What a module beside this one gets that imports a library: often another build than `require` gives. */
export const load = (name) => import(name);
