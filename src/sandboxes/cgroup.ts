// Limits by control groups: a group for each command, below this process's own, gone when the command is.
import { randomInt } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Limits {
  processes: number;
  bytes: number;
}

export interface Group {
  /** Files that a process writes its own id into to be in the group. */
  join: string[];
  /** Removes it, once it is empty, and says which limits were reached. */
  close(): Promise<(keyof Limits)[]>;
}

export interface Groups {
  version: 1 | 2;
  /** Throws where the system refuses. */
  open(limits: Limits): Group;
}

const prefix = 'retinue';
const removeMs = 1000;

/** Where groups are mounted, as the system tells it; other places in tests. */
export interface GroupGround {
  mountinfo: string;
  own: string;
}

/** Where this process may make groups with both limits, or null. Groups of processes that are gone are removed. */
export function findGroups(
  ground: GroupGround = { mountinfo: read('/proc/self/mountinfo'), own: read('/proc/self/cgroup') },
): Groups | null {
  const groups = findV2(ground) ?? findV1(ground);
  return groups;
}

interface Hierarchy {
  /** The folder in which groups are made. */
  folder: string;
  limit(group: string, limits: Limits): void;
  reached(group: string): (keyof Limits)[];
}

function findV2({ mountinfo, own }: GroupGround): Groups | null {
  const at = placesOf(mountinfo, (type) => type === 'cgroup2').flatMap((mount) => {
    const path = /^0::(.*)$/m.exec(own)?.[1];
    return path === undefined ? [] : [{ mount: mount.path, folder: inMount(mount, path) }];
  })[0];
  if (at === undefined) return null;
  // A group with processes of its own cannot hand controllers down, so the nearest one above that does is taken.
  for (let folder = at.folder; relative(at.mount, folder).split('/')[0] !== '..'; folder = join(folder, '..')) {
    const given = read(join(folder, 'cgroup.subtree_control')).split(/\s+/);
    const isOurs = ['pids', 'memory'].every((name) => given.includes(name)) && canWrite(folder) && canWrite(join(folder, 'cgroup.procs'));
    if (isOurs) return groupsIn(2, [{ folder, limit: limitV2, reached: reachedV2 }]);
    if (folder === at.mount) break;
  }
  return null;
}

function limitV2(group: string, { processes, bytes }: Limits): void {
  writeFileSync(join(group, 'pids.max'), String(processes));
  writeFileSync(join(group, 'memory.max'), String(bytes));
  tryWrite(join(group, 'memory.swap.max'), '0');
}

function reachedV2(group: string): (keyof Limits)[] {
  return [...counted(group, 'pids.events', 'max', 'processes'), ...counted(group, 'memory.events', 'oom_kill', 'bytes')];
}

function findV1({ mountinfo, own }: GroupGround): Groups | null {
  const hierarchy = (controller: string): string | null => {
    const mount = placesOf(mountinfo, (type, options) => type === 'cgroup' && options.split(',').includes(controller))[0];
    const path = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(own)?.[1];
    if (mount === undefined || path === undefined) return null;
    const folder = inMount(mount, path);
    return canWrite(folder) && canWrite(join(folder, 'cgroup.procs')) ? folder : null;
  };
  const [pids, memory] = [hierarchy('pids'), hierarchy('memory')];
  if (pids === null || memory === null) return null;
  return groupsIn(1, [
    {
      folder: pids,
      limit: (group, { processes }) => writeFileSync(join(group, 'pids.max'), String(processes)),
      reached: (group) => counted(group, 'pids.events', 'max', 'processes'),
    },
    {
      folder: memory,
      limit(group, { bytes }) {
        writeFileSync(join(group, 'memory.limit_in_bytes'), String(bytes));
        tryWrite(join(group, 'memory.memsw.limit_in_bytes'), String(bytes));
      },
      reached: (group) => counted(group, 'memory.oom_control', 'oom_kill', 'bytes'),
    },
  ]);
}

function groupsIn(version: 1 | 2, hierarchies: Hierarchy[]): Groups | null {
  const owner = `${prefix}-${ownerOf(process.pid)}`;
  const folders = [...new Set(hierarchies.map(({ folder }) => folder))];
  for (const folder of folders) sweep(folder);
  const groups: Groups = {
    version,
    open(limits) {
      const name = `${owner}-${randomInt(2 ** 47)}`;
      const all = hierarchies.map((hierarchy) => ({ ...hierarchy, group: join(hierarchy.folder, name) }));
      try {
        for (const { group, limit } of all) {
          mkdirSync(group);
          limit(group, limits);
        }
      } catch (error) {
        for (const { group } of all) remove(group);
        throw error;
      }
      return {
        join: all.map(({ group }) => join(group, 'cgroup.procs')),
        async close() {
          const reached = all.flatMap(({ group, reached: look }) => look(group));
          const left = new Set(all.map(({ group }) => group));
          for (const end = performance.now() + removeMs; left.size > 0 && performance.now() < end; ) {
            for (const group of left) if (remove(group)) left.delete(group);
            if (left.size > 0) await sleep(1);
          }
          return reached;
        },
      };
    },
  };
  try {
    // Seen to work, or not there at all: controllers may be there and not ours to set.
    const tried = groups.open({ processes: 64, bytes: 64 << 20 });
    for (const file of tried.join) remove(join(file, '..'));
    return groups;
  } catch {
    return null;
  }
}

/** Removes the groups of processes that are gone. Those of other process namespaces cannot be judged from here. */
function sweep(folder: string): void {
  const pattern = new RegExp(`^${prefix}-(\\d+)-(\\d+)-\\d+-\\d+$`);
  for (const name of names(folder)) {
    const [, space, pid] = pattern.exec(name) ?? [];
    const isDead = space === spaceOf() && !name.startsWith(`${prefix}-${ownerOf(Number(pid))}-`);
    if (isDead) remove(join(folder, name));
  }
}

/** Process namespace, id and start of a process: nobody else has had all three. */
function ownerOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 'gone';
  return `${spaceOf()}-${pid}-${start}`;
}

function spaceOf(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
  } catch {
    return '0';
  }
}

interface Place {
  /** Where it is mounted, and which part of the hierarchy that shows. */
  path: string;
  root: string;
}

function placesOf(mountinfo: string, isIt: (type: string, options: string) => boolean): Place[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', path = ''] = before.split(' ');
    const [type = '', , options = ''] = after.split(' ');
    return isIt(type, options) ? [{ path, root }] : [];
  });
}

/** Of a hierarchy that is seen in part the process's own path is below what is seen, or nothing is known of it. */
function inMount({ path, root }: Place, own: string): string {
  const inside = relative(root, own);
  return inside.startsWith('..') ? path : join(path, inside);
}

function counted(group: string, file: string, key: string, what: keyof Limits): (keyof Limits)[] {
  const count = new RegExp(`^${key} (\\d+)$`, 'm').exec(read(join(group, file)))?.[1];
  return Number(count ?? 0) > 0 ? [what] : [];
}

function remove(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function tryWrite(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch {
    // A machine that does not count swap has none to limit.
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
