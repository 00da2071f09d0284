# Chooses the simulated toolkit of ascend_rt in this shell, for sh and bash: . "$(ascend-rt toolkit-path)/set_env.sh"
# In the toolkit, the first line names its directory.

if [ ! -e "$_ascend_rt_home/lib64/libascendcl.so" ]; then
    echo "set_env.sh: there is no $_ascend_rt_home/lib64/libascendcl.so: the toolkit or ascend_rt has moved or is" \
        "removed; run 'ascend-rt toolkit-path' for the directory that is valid" >&2
    unset _ascend_rt_home
    return 1
fi

_ascend_rt_prepend() { # VARIABLE DIRECTORY, which is in it once then
    eval "_ascend_rt_rest=:\${$1-}:"
    while :; do
        case $_ascend_rt_rest in
        *":$2:"*) _ascend_rt_rest=${_ascend_rt_rest%%":$2:"*}:${_ascend_rt_rest#*":$2:"} ;;
        *) break ;;
        esac
    done
    _ascend_rt_rest=${_ascend_rt_rest#:}
    _ascend_rt_rest=${_ascend_rt_rest%:}
    eval "export $1=\"\$2\${_ascend_rt_rest:+:}\$_ascend_rt_rest\""
}

_ascend_rt_rest=${ASCEND_HOME_PATH:-${ASCEND_TOOLKIT_HOME-}}
if [ -n "$_ascend_rt_rest" ] && [ "$_ascend_rt_rest" != "$_ascend_rt_home" ]; then
    echo "set_env.sh: the simulated toolkit replaces $_ascend_rt_rest in this shell" >&2
fi
export ASCEND_HOME_PATH="$_ascend_rt_home"
export ASCEND_TOOLKIT_HOME="$_ascend_rt_home"
export ASCEND_OPP_PATH="$_ascend_rt_home/opp"
export ASCEND_AICPU_PATH="$_ascend_rt_home"
export TOOLCHAIN_HOME="$_ascend_rt_home/toolkit"
_ascend_rt_prepend PATH "$_ascend_rt_home/bin"
_ascend_rt_prepend PYTHONPATH "$_ascend_rt_home/python/site-packages"
_ascend_rt_prepend C_INCLUDE_PATH "$_ascend_rt_home/include"
_ascend_rt_prepend CPLUS_INCLUDE_PATH "$_ascend_rt_home/include"
_ascend_rt_prepend LIBRARY_PATH "$_ascend_rt_home/lib64"
_ascend_rt_prepend LD_LIBRARY_PATH "$_ascend_rt_home/lib64"
unset _ascend_rt_home _ascend_rt_rest
unset -f _ascend_rt_prepend
