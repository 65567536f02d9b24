// Enforces limits with control groups: one group per command, below the group of this process, removed when the command has ended.
import { randomInt } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { trySignal } from '../system/signals.ts';

export interface Limits {
  processes: number;
  bytes: number;
}

export interface Group {
  /** Files that a process writes its own id into to enter the group. */
  join: string[];
  /** Removes the group and returns the limits that were reached. A group whose processes take long to die is removed later. */
  close(): Promise<(keyof Limits)[]>;
}

export interface Groups {
  version: 1 | 2;
  /** Throws if the system refuses. */
  open(limits: Limits): Group;
}

const prefix = 'retinue';
/** How long the end of a command waits for its group to be empty, and how often it is looked at afterwards. */
const removeMs = 1000;

/** The contents of the system files that say where groups are mounted; others in tests. */
export interface CgroupFiles {
  mountinfo: string;
  own: string;
}

/** Null if this process cannot create groups with both limits. Kills and removes what processes that have ended left in theirs. */
export function findGroups(
  files: CgroupFiles = { mountinfo: readOrEmpty('/proc/self/mountinfo'), own: readOrEmpty('/proc/self/cgroup') },
): Groups | null {
  return findV2(files) ?? findV1(files);
}

interface Hierarchy {
  /** The directory in which groups are created. */
  folder: string;
  limit(group: string, limits: Limits): void;
  reached(group: string): (keyof Limits)[];
}

function findV2({ mountinfo, own }: CgroupFiles): Groups | null {
  const at = findMounts(mountinfo, (type) => type === 'cgroup2').flatMap((mount) => {
    const path = /^0::(.*)$/m.exec(own)?.[1];
    return path === undefined ? [] : [{ mount: mount.path, folder: groupFolder(mount, path) }];
  })[0];
  if (at === undefined) return null;
  // A group that contains processes cannot pass on controllers, so the nearest group above that does is used.
  for (let folder = at.folder; relative(at.mount, folder).split('/')[0] !== '..'; folder = join(folder, '..')) {
    const given = readOrEmpty(join(folder, 'cgroup.subtree_control')).split(/\s+/);
    const isOurs = ['pids', 'memory'].every((name) => given.includes(name)) && canWrite(folder) && canWrite(join(folder, 'cgroup.procs'));
    if (isOurs) return createGroups(2, [{ folder, limit: setLimitsV2, reached: reachedLimitsV2 }]);
    if (folder === at.mount) break;
  }
  return null;
}

function setLimitsV2(group: string, { processes, bytes }: Limits): void {
  writeFileSync(join(group, 'pids.max'), String(processes));
  writeFileSync(join(group, 'memory.max'), String(bytes));
  tryWrite(join(group, 'memory.swap.max'), '0');
}

function reachedLimitsV2(group: string): (keyof Limits)[] {
  return [...readCounter(group, 'pids.events', 'max', 'processes'), ...readCounter(group, 'memory.events', 'oom_kill', 'bytes')];
}

function findV1({ mountinfo, own }: CgroupFiles): Groups | null {
  const hierarchy = (controller: string): string | null => {
    const mount = findMounts(mountinfo, (type, options) => type === 'cgroup' && options.split(',').includes(controller))[0];
    const path = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(own)?.[1];
    if (mount === undefined || path === undefined) return null;
    const folder = groupFolder(mount, path);
    return canWrite(folder) && canWrite(join(folder, 'cgroup.procs')) ? folder : null;
  };
  const [pids, memory] = [hierarchy('pids'), hierarchy('memory')];
  if (pids === null || memory === null) return null;
  return createGroups(1, [
    {
      folder: pids,
      limit: (group, { processes }) => writeFileSync(join(group, 'pids.max'), String(processes)),
      reached: (group) => readCounter(group, 'pids.events', 'max', 'processes'),
    },
    {
      folder: memory,
      limit(group, { bytes }) {
        writeFileSync(join(group, 'memory.limit_in_bytes'), String(bytes));
        tryWrite(join(group, 'memory.memsw.limit_in_bytes'), String(bytes));
      },
      reached: (group) => readCounter(group, 'memory.oom_control', 'oom_kill', 'bytes'),
    },
  ]);
}

function createGroups(version: 1 | 2, hierarchies: Hierarchy[]): Groups | null {
  const owner = `${prefix}-${processKey(process.pid)}`;
  const folders = [...new Set(hierarchies.map(({ folder }) => folder))];
  for (const folder of folders) removeOrphans(folder);
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
        for (const { group } of all) removeGroup(group);
        throw error;
      }
      return {
        join: all.map(({ group }) => join(group, 'cgroup.procs')),
        async close() {
          const reached = all.flatMap(({ group, reached: look }) => look(group));
          const left = new Set(all.map(({ group }) => group));
          for (const end = performance.now() + removeMs; left.size > 0 && performance.now() < end; ) {
            for (const group of left) if (removeGroup(group)) left.delete(group);
            if (left.size > 0) await sleep(1);
          }
          if (left.size > 0) void removeLater(left);
          return reached;
        },
      };
    },
  };
  try {
    // Tried once, because controllers may exist without being writable for this process.
    const tried = groups.open({ processes: 64, bytes: 64 << 20 });
    for (const file of tried.join) removeGroup(join(file, '..'));
    return groups;
  } catch {
    return null;
  }
}

/** Removes the groups of processes that have ended, and kills their members. Those of other process namespaces cannot be checked from here. */
function removeOrphans(folder: string): void {
  const left = new Set<string>();
  const pattern = new RegExp(`^${prefix}-(\\d+)-(\\d+)-\\d+-\\d+$`);
  for (const name of listNames(folder)) {
    const [, space, pid] = pattern.exec(name) ?? [];
    const isDead = space === pidNamespaceId() && !name.startsWith(`${prefix}-${processKey(Number(pid))}-`);
    if (!isDead) continue;
    const group = join(folder, name);
    killMembers(group);
    if (!removeGroup(group)) left.add(group);
  }
  if (left.size > 0) void removeLater(left);
}

/** The kernel lists the members, so no other process is hit. Members of namespaces that cannot be seen from here are listed as 0. */
function killMembers(group: string): void {
  if (tryWrite(join(group, 'cgroup.kill'), '1')) return;
  for (const line of readOrEmpty(join(group, 'cgroup.procs')).split('\n')) {
    const pid = Number(line);
    if (pid > 1 && pid !== process.pid) trySignal(pid, 'SIGKILL');
  }
}

/** Namespace, id and start time of a process, which together are unique. */
function processKey(pid: number): string {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 'gone';
  return `${pidNamespaceId()}-${pid}-${start}`;
}

function pidNamespaceId(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
  } catch {
    return '0';
  }
}

interface CgroupMount {
  /** Where it is mounted, and which part of the hierarchy it shows. */
  path: string;
  root: string;
}

function findMounts(mountinfo: string, matches: (type: string, options: string) => boolean): CgroupMount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', path = ''] = before.split(' ');
    const [type = '', , options = ''] = after.split(' ');
    return matches(type, options) ? [{ path, root }] : [];
  });
}

/** If only part of the hierarchy is mounted and the group of this process is outside it, the mount itself is used. */
function groupFolder({ path, root }: CgroupMount, own: string): string {
  const inside = relative(root, own);
  return inside.startsWith('..') ? path : join(path, inside);
}

function readCounter(group: string, file: string, key: string, what: keyof Limits): (keyof Limits)[] {
  const count = new RegExp(`^${key} (\\d+)$`, 'm').exec(readOrEmpty(join(group, file)))?.[1];
  return Number(count ?? 0) > 0 ? [what] : [];
}

/** For groups whose members are still ending. Does not keep this process alive: the next one removes what is left. */
async function removeLater(groups: Set<string>): Promise<void> {
  while (groups.size > 0) {
    await sleep(removeMs, undefined, { ref: false });
    for (const group of groups) if (removeGroup(group)) groups.delete(group);
  }
}

function removeGroup(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function listNames(folder: string): string[] {
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

/** False if the system has no such file: it does not count swap, or cannot kill a group. */
function tryWrite(path: string, text: string): boolean {
  try {
    writeFileSync(path, text);
    return true;
  } catch {
    return false;
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
