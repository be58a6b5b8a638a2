# Spack package of ccl-analyze. NOT TESTED: this project is built where there is no Spack.
#   spack repo create ~/ccl-repo ccl && mkdir -p ~/ccl-repo/packages/ccl-analyze
#   cp slurm/spack/package.py ~/ccl-repo/packages/ccl-analyze/ && spack repo add ~/ccl-repo
#   spack dev-build ccl-analyze@main        (in a clone of this repository)
# Names and variants follow Spack 0.22; newer ones want "from spack_repo.builtin.build_systems.cmake import CMakePackage".
from spack.package import *


class CclAnalyze(CMakePackage):
    """Profiler traces of a distributed training run in, one HDF5 file and one page of text out."""

    homepage = "https://example.org/ccl-analyze"  # where your clone came from
    git = "https://example.org/ccl-analyze.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("sqlite", default=True, description="Read SQLite exports of Nsight Systems")
    variant("isal", default=True, description="Inflate .gz traces with ISA-L, else with zlib")
    variant("figures", default=False, description="Python packages that jobs/plot needs at run time")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build", when="+isal")
    depends_on("mpi@3.1:")
    depends_on("hdf5@1.10: +mpi")
    depends_on("simdjson@3.0.1:")
    depends_on("yaml-cpp@0.7:")
    depends_on("cli11@2.1:")
    depends_on("fmt@9.1:")
    depends_on("tomlplusplus@3.3:")
    depends_on("zlib-api")
    depends_on("openssl")
    depends_on("sqlite@3:", when="+sqlite")
    depends_on("isa-l", when="+isal")
    with when("+figures"):
        depends_on("python@3.9:", type="run")
        depends_on("py-h5py", type="run")
        depends_on("py-matplotlib", type="run")

    conflicts("%gcc@:11", msg="needs C++20 of GCC 12 or newer")
    conflicts("%clang@:13", msg="needs C++20 of Clang 14 or newer")

    def cmake_args(self):
        return [
            self.define("CCL_TESTS", False),
            self.define("CCL_INFLATE", "isal" if self.spec.satisfies("+isal") else "zlib"),
        ]
