"""A binary heap of (key, node) in two arrays, smallest key first, for numba kernels."""

from bilex.numerics.compilation import njit
from bilex.numerics.types import Indices as Ints


@njit(cache=True, nogil=True)
def push(heap_key: Ints, heap_node: Ints, size: int, key: int, node: int) -> int:
    """Add an entry and return the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap_key[parent] <= key:
            break
        heap_key[child], heap_node[child] = heap_key[parent], heap_node[parent]
        child = parent
    heap_key[child], heap_node[child] = key, node
    return size + 1


@njit(cache=True, nogil=True)
def pop(heap_key: Ints, heap_node: Ints, size: int) -> int:
    """Remove the first entry, which the caller has read already, and return the new size."""
    size -= 1
    key, node = heap_key[size], heap_node[size]
    parent = 0
    child = 1
    while child < size:
        if child + 1 < size and heap_key[child + 1] < heap_key[child]:
            child += 1
        if heap_key[child] >= key:
            break
        heap_key[parent], heap_node[parent] = heap_key[child], heap_node[child]
        parent = child
        child = 2 * parent + 1
    heap_key[parent], heap_node[parent] = key, node
    return size
